// file_io.h - whole files, directories, compressed bytes.
#pragma once

#include "base/core/bytes.h"

// whole file, pipe or terminal; "-" reads standard input. Errors: the file's; it is a directory, or
// a device, which may have no end.
HSC_MUST_USE hsc_status *hsc_file_read(const char *path, hsc_bytes *out_bytes);
// Opens a regular file for reading, the caller closes it. INVALID_ARGUMENT for all else, pipes too,
// at once: for what is mapped, and for what was found in a folder, where nobody writes to a pipe.
HSC_MUST_USE hsc_status *hsc_file_open(const char *path, int *out_fd, size_t *out_size);
bool hsc_file_is_regular(const char *path);  // links are followed
// hsc_file_read, of what hsc_file_open opens
HSC_MUST_USE hsc_status *hsc_file_read_regular(const char *path, hsc_bytes *out_bytes);
// For names that foreign data gives (a capture, of its programs). INVALID_ARGUMENT: the name would
// lead out of the folder, by "..", as a path that begins with "/" or by a link.
HSC_MUST_USE hsc_status *hsc_file_check_in(const char *folder, const char *name);
HSC_MUST_USE hsc_status *hsc_file_read_in(const char *folder,
                                          const char *name,
                                          hsc_bytes *out_bytes);
// The first bytes of a file, as many as there is room for; *out_size: how many there are. Errors:
// hsc_file_open's. Not for pipes: what is read of them is gone.
HSC_MUST_USE hsc_status *hsc_file_head(const char *path, char *room, size_t size, size_t *out_size);
// A whole file without reading it: pages come as they are looked at, and go again (spill.h).
// Errors: the file's. It must not become shorter meanwhile.
HSC_MUST_USE hsc_status *hsc_file_map(const char *path, hsc_view *out_bytes);
void hsc_file_unmap(hsc_view bytes);
// Writes beside the target and renames over it, so that readers see the old or the new file, never
// a part.
HSC_MUST_USE hsc_status *hsc_file_write_atomic(const char *path, const void *data, size_t size);
// Removes what this process was writing so and has not finished; whoever called gets an error then.
// For a handler of signals that end the process: async-signal-safe.
void hsc_file_drop_unfinished(void);
HSC_MUST_USE hsc_status *hsc_dir_make(const char *path);  // mkdir -p
// The rest of what is open, and all of `data` into it; `path` is for messages.
HSC_MUST_USE hsc_status *hsc_fd_read(int fd, const char *path, hsc_bytes *out_bytes);
HSC_MUST_USE hsc_status *hsc_fd_write(int fd, const char *path, const void *data, size_t size);
bool hsc_file_exists(const char *path);
// $TMPDIR/hloscope-UID, else /tmp/hloscope-UID: a directory that only this user can write to, made
// when missing; its path has neither blanks nor colons. Heap string in *out_path. Errors:
// PERMISSION_DENIED when somebody else made it.
HSC_MUST_USE hsc_status *hsc_private_dir(char **out_path);
// $HLOSCOPE_CACHE_DIR, else $XDG_CACHE_HOME/hloscope, else ~/.cache/hloscope, else (no home, or one
// that cannot be written to) hsc_private_dir; made when missing, and this
// user's alone (private_file.h): PERMISSION_DENIED when others may write one that was asked for.
// Heap string in *out_path.
HSC_MUST_USE hsc_status *hsc_cache_dir(char **out_path);
// The directory of the running executable or shared object that contains `address` (dladdr), heap
// string.
HSC_MUST_USE hsc_status *hsc_self_dir(const void *address, char **out_path);
// Reads gzip, zlib, zstd or plain bytes, by magic number. Errors: DATA_LOSS for corrupt data,
// RESOURCE_EXHAUSTED over `limit_bytes`.
// A bomb is refused by RESOURCE_EXHAUSTED too: what unpacks to more than 64 MiB and 128 times its
// size (text of programs packs 5 to 50 times).
HSC_MUST_USE hsc_status *hsc_decompress(hsc_view data, size_t limit_bytes, hsc_bytes *out_bytes);
// Whether these begin as gzip or zstd do.
bool hsc_is_packed(hsc_view bytes);
// A whole file, unpacked when it is packed; errors of what is in it name the file.
HSC_MUST_USE hsc_status *hsc_file_read_unpacked(const char *path,
                                                size_t limit_bytes,
                                                hsc_bytes *out_bytes);
// A text without the mark that editors of Windows put before UTF-8.
hsc_view hsc_text_after_mark(hsc_view text);
