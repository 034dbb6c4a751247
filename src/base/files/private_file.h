// private_file.h - files that may hold code that we run, or that we write where others could have
// put a link: ours alone, by the rules that sshd has for keys.
//
// A directory or file is trusted when it belongs to this user (or to root) and nobody else may
// write it. HLOSCOPE_CACHE_TRUST=group trusts also what the group may write, whoever of it made it:
// for teams that share a cache on purpose. What everybody may write is never trusted.
#pragma once

#include <sys/stat.h>

#include "base/core/bytes.h"
#include "base/core/status.h"

// What is wrong with the owner or the mode, as words ("is writable by everybody"); NULL = trusted.
const char *hsc_private_problem(const struct stat *info);
// mkdir -p; what is made is 0700 (2770 when the group is trusted), whatever the umask. Errors: the
// system's, PERMISSION_DENIED when the directory is there and not to be trusted.
HSC_MUST_USE hsc_status *hsc_private_dir_make(const char *path);
// The whole file, without following a link in its last part. Errors: NOT_FOUND, DATA_LOSS (a link,
// a pipe, a directory), PERMISSION_DENIED (not to be trusted), the system's.
HSC_MUST_USE hsc_status *hsc_private_file_read(const char *path, hsc_bytes *out_bytes);
// Beside the target and renamed over it (and over a link in its place), 0600 (0660 when the group
// is trusted).
HSC_MUST_USE hsc_status *hsc_private_file_write(const char *path, const void *data, size_t size);
// Opens a file of ours, made when missing, never through a link: a lock, a database.
HSC_MUST_USE hsc_status *hsc_private_file_open(const char *path, int *out_fd);
