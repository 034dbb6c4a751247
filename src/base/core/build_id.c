// build_id.c - which build of hloscope this is.
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <unistd.h>

#include "base/core/build_id.h"

enum { MAX_ID_BYTES = 20 };  // SHA-1, what linkers write by default

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char own[2 * MAX_ID_BYTES + 1];

static void read_note(const char *at, size_t size, char *text) {
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    memcpy(&note, at, sizeof note);
    size_t name = (note.n_namesz + 3u) / 4 * 4;
    size_t whole = sizeof note + name + (note.n_descsz + 3u) / 4 * 4;
    if (whole > size || whole < sizeof note)
      return;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
        !memcmp(at + sizeof note, "GNU", 4)) {
      const unsigned char *id = (const unsigned char *)at + sizeof note + name;
      for (size_t i = 0; i < note.n_descsz && i < MAX_ID_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", id[i]);
      return;
    }
    at += whole;
    size -= whole;
  }
}

// The note of the object (program or shared library) that this code was linked into.
static int look(struct dl_phdr_info *info, size_t size, void *address) {
  bool mine = false;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *header = &info->dlpi_phdr[i];
    mine |= header->p_type == PT_LOAD &&
            (uintptr_t)address - (info->dlpi_addr + header->p_vaddr) < header->p_memsz;
  }
  for (int i = 0; i < info->dlpi_phnum && mine; i++)
    if (info->dlpi_phdr[i].p_type == PT_NOTE && !own[0])
      read_note((const char *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr),
                info->dlpi_phdr[i].p_memsz, own);
  return mine;
}

static void find(void) {
  dl_iterate_phdr(look, (void *)(uintptr_t)find);
  if (!own[0])
    snprintf(own, sizeof own, "%s", HSC_VERSION);
}

const char *hsc_build_id(void) {
  pthread_once(&once, find);
  return own;
}

void hsc_build_id_of_file(const char *path, char out_text[41]) {
  enum { MOST_HEADERS = 64 };
  ElfW(Ehdr) file;
  ElfW(Phdr) header;
  char note[4096];
  out_text[0] = 0;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return;
  if (pread(fd, &file, sizeof file, 0) == sizeof file && !memcmp(file.e_ident, ELFMAG, SELFMAG) &&
      file.e_phentsize == sizeof header)
    for (int i = 0; i < file.e_phnum && i < MOST_HEADERS && !out_text[0]; i++) {
      if (pread(fd, &header, sizeof header, (off_t)(file.e_phoff + (ElfW(Off))i * sizeof header)) !=
              sizeof header ||
          header.p_type != PT_NOTE)
        continue;
      ssize_t got = pread(fd, note, header.p_filesz < sizeof note ? header.p_filesz : sizeof note,
                          (off_t)header.p_offset);
      if (got > 0)
        read_note(note, (size_t)got, out_text);
    }
  close(fd);
}
