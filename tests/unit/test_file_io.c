#include "base/core/memory.h"
#include "base/core/random.h"
#include "base/files/file_io.h"
#include "base/files/places.h"
#include "base/text/text.h"
#include "unit.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

static char directory[] = "/tmp/hloscope-test-XXXXXX";

static int make_directory(void **state) {
  return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", directory);
  return system(command);
}

static const char *in_directory(const char *name) {
  static char paths[4][256];
  static int turn;
  char *path = paths[turn++ % 4];
  snprintf(path, sizeof paths[0], "%s/%s", directory, name);
  return path;
}

static void what_is_written_reads_back(void **state) {
  static const size_t sizes[] = {0, 1, 65535, 65536, 65537, 3000000};
  for (size_t i = 0; i < HSC_COUNT_OF(sizes); i++) {
    char *data = calloc(1, sizes[i] + 1);
    for (size_t b = 0; b < sizes[i]; b++)
      data[b] = (char)(b * 31 + i);
    hsc_bytes back = {0};
    EXPECT_OK(hsc_file_write_atomic(in_directory("data"), data, sizes[i]));
    EXPECT_OK(hsc_file_read(in_directory("data"), &back));
    assert_int_equal(back.size, sizes[i]);
    if (sizes[i])
      assert_memory_equal(back.data, data, sizes[i]);
    hsc_bytes_deinit(&back);
    free(data);
  }
}

static void mode_and_links_are_kept(void **state) {
  struct stat info;
  const char *real = in_directory("real");
  const char *link_path = in_directory("link");
  mode_t mask = umask(027);
  EXPECT_OK(hsc_file_write_atomic(real, "1", 1));
  umask(mask);
  assert_int_equal(stat(real, &info), 0);
  assert_int_equal(info.st_mode & 0777, 0640);
  assert_int_equal(chmod(real, 0600), 0);
  assert_int_equal(symlink(real, link_path), 0);
  EXPECT_OK(hsc_file_write_atomic(link_path, "22", 2));
  assert_int_equal(lstat(link_path, &info), 0);
  assert_true(S_ISLNK(info.st_mode));
  assert_int_equal(stat(real, &info), 0);
  assert_int_equal(info.st_size, 2);
  assert_int_equal(info.st_mode & 0777, 0600);
}

static void failures_leave_no_trace(void **state) {
  EXPECT_CODE(NOT_FOUND, hsc_file_write_atomic(in_directory("none/file"), "1", 1));
  EXPECT_CODE(INVALID_ARGUMENT, hsc_file_write_atomic(directory, "1", 1));
  char command[256];
  snprintf(command, sizeof command, "ls -A %s | grep -q '\\.......$' && exit 1; exit 0", directory);
  assert_int_equal(system(command), 0);
  EXPECT_OK(hsc_file_write_atomic("/dev/null", "1", 1));
  struct stat info;
  assert_int_equal(stat("/dev/null", &info), 0);
  assert_true(S_ISCHR(info.st_mode));
}

static size_t gzip_to(char *out, size_t capacity, const char *data, size_t size) {
  z_stream stream = {0};
  assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY),
                   Z_OK);
  stream.next_in = (Bytef *)(uintptr_t)data;
  stream.avail_in = (uInt)size;
  stream.next_out = (Bytef *)out;
  stream.avail_out = (uInt)capacity;
  assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
  size_t written = capacity - stream.avail_out;
  deflateEnd(&stream);
  return written;
}

// In the child: SIGINT to the process once a part of the file is to be seen in the folder.
static void *interrupt_when_it_is_there(void *folder) {
  for (bool found = false; !found;) {
    DIR *open = opendir(folder);
    for (struct dirent *entry; open && (entry = readdir(open));)
      found |= !strncmp(entry->d_name, "large", 5);
    closedir(open);
  }
  kill(getpid(), SIGINT);
  return NULL;
}

static void drop_and_end(int signal_number) {
  hsc_file_drop_unfinished();
  _exit(0);
}

// Writes 64 MiB while another thread waits for them to begin.
static void write_until_interrupted(char *folder, const char *path) {
  pthread_t thread;
  sigset_t interrupt;
  size_t size = 64 << 20;
  char *data = calloc(1, size);
  signal(SIGINT, drop_and_end);
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  // the thread that writes takes the signal
  pthread_sigmask(SIG_BLOCK, &interrupt, NULL);
  if (!data || pthread_create(&thread, NULL, interrupt_when_it_is_there, folder))
    _exit(2);
  pthread_sigmask(SIG_UNBLOCK, &interrupt, NULL);
  hsc_status_free(hsc_file_write_atomic(path, data, size));
  pthread_join(thread, NULL);
  _exit(0);
}

static void what_an_interrupt_leaves(void **state) {
  char path[600];
  int waited = 0;
  int names = 0;
  char folder[] = "/tmp/hloscope-file-io-XXXXXX";
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/large", folder);
  pid_t child = fork();
  if (!child)
    write_until_interrupted(folder, path);
  assert_int_equal(waitpid(child, &waited, 0), child);
  assert_true(WIFEXITED(waited) && WEXITSTATUS(waited) == 0);
  DIR *open = opendir(folder);
  for (struct dirent *entry; (entry = readdir(open));)
    names += *entry->d_name != '.' && strcmp(entry->d_name, "large") != 0;
  closedir(open);
  assert_int_equal(names, 0);
  unlink(path);
  assert_int_equal(rmdir(folder), 0);
}

static void a_full_disk_is_told(void **state) {
  EXPECT_CODE(RESOURCE_EXHAUSTED, hsc_file_write_atomic("/dev/full", "1", 1));
  hsc_bytes bytes = {0};
  EXPECT_CODE(INVALID_ARGUMENT, hsc_file_read("/dev/fd", &bytes));
  hsc_bytes_deinit(&bytes);
}

// Reading, writing and decompressing tell that memory ran out, at whatever allocation it does.
static void failing_allocations_are_told(void **state) {
  static char packed[4096];
  static char zeros[100000];
  size_t size = gzip_to(packed, sizeof packed, zeros, sizeof zeros);
  size_t zstd_size = ZSTD_compress(packed + 2048, 2048, zeros, sizeof zeros, 3);
  const char *path = in_directory("alloc");
  EXPECT_OK(hsc_file_write_atomic(path, zeros, sizeof zeros));
  for (uint64_t n = 1; n < 5; n++) {
    hsc_bytes out[3] = {0};
    hsc_status *status[4];
    hsc_alloc_fail_after(n);
    status[0] = hsc_decompress((hsc_view){packed, size}, 1 << 20, &out[0]);
    hsc_alloc_fail_after(n);
    status[1] = hsc_decompress((hsc_view){packed + 2048, zstd_size}, 1 << 20, &out[1]);
    hsc_alloc_fail_after(n);
    status[2] = hsc_file_read(path, &out[2]);
    hsc_alloc_fail_after(n);
    status[3] = hsc_file_write_atomic(path, zeros, sizeof zeros);
    hsc_alloc_fail_after(0);
    for (int i = 0; i < 4; i++) {
      if (n == 1)
        assert_non_null(status[i]);
      if (!status[i] && i < 3)
        assert_int_equal(out[i].size, sizeof zeros);
      if (status[i])
        EXPECT_CODE(RESOURCE_EXHAUSTED, status[i]);
    }
    for (int i = 0; i < 3; i++)
      hsc_bytes_deinit(&out[i]);
  }
}

static void messages_name_the_file(void **state) {
  hsc_bytes bytes = {0};
  hsc_status *status = hsc_file_read("no-such-file.hlo", &bytes);
  assert_string_equal(hsc_status_message(status),
                      "no-such-file.hlo: cannot open: No such file or directory");
  hsc_status_free(status);
  EXPECT_CODE(INVALID_ARGUMENT, hsc_file_read(directory, &bytes));
  hsc_bytes_deinit(&bytes);
}

// What has no end, and what nobody writes to.
static void devices_and_pipes_are_refused_at_once(void **state) {
  hsc_bytes bytes = {0};
  hsc_view view = {0};
  size_t size = 0;
  int fd = 0;
  char head[4];
  const char *pipe_path = in_directory("pipe");
  assert_int_equal(mkfifo(pipe_path, 0600), 0);
  EXPECT_CODE(INVALID_ARGUMENT, hsc_file_read("/dev/zero", &bytes));
  EXPECT_CODE(INVALID_ARGUMENT, hsc_file_read_regular("/dev/null", &bytes));
  EXPECT_CODE(INVALID_ARGUMENT, hsc_file_read_regular(pipe_path, &bytes));
  EXPECT_CODE(INVALID_ARGUMENT, hsc_file_read_regular(directory, &bytes));
  EXPECT_CODE(INVALID_ARGUMENT, hsc_file_head(pipe_path, head, sizeof head, &size));
  EXPECT_CODE(INVALID_ARGUMENT, hsc_file_map("/dev/zero", &view));
  EXPECT_CODE(INVALID_ARGUMENT, hsc_file_map(pipe_path, &view));
  EXPECT_CODE(NOT_FOUND, hsc_file_open(in_directory("nothing"), &fd, &size));
  assert_int_equal(fd, -1);
  assert_false(hsc_file_is_regular(pipe_path));
  assert_false(hsc_file_is_regular(directory));
  assert_int_equal(bytes.size, 0);
  EXPECT_OK(hsc_file_read("/dev/null", &bytes));
  hsc_bytes_deinit(&bytes);
}

// Names that a capture gives: in it, not above or beside it, whatever links lie there.
static void names_stay_in_their_folder(void **state) {
  static const char *const outside[] = {
      "../secret",    "/etc/hostname",     "in/../../secret",        "link",
      "in/up/secret", "../inner-2/secret", "in/../../inner-2/secret"};
  hsc_bytes bytes = {0};
  char inner[256];
  snprintf(inner, sizeof inner, "%s", in_directory("inner"));
  EXPECT_OK(hsc_dir_make(in_directory("inner/in")));
  EXPECT_OK(hsc_dir_make(in_directory("inner-2")));
  EXPECT_OK(hsc_file_write_atomic(in_directory("secret"), "1", 1));
  EXPECT_OK(hsc_file_write_atomic(in_directory("inner-2/secret"), "1", 1));
  EXPECT_OK(hsc_file_write_atomic(in_directory("inner/in/file"), "22", 2));
  assert_int_equal(symlink("../secret", in_directory("inner/link")), 0);
  assert_int_equal(symlink("../..", in_directory("inner/in/up")), 0);
  assert_int_equal(symlink("in/file", in_directory("inner/near")), 0);
  for (size_t i = 0; i < HSC_COUNT_OF(outside); i++)
    EXPECT_CODE(INVALID_ARGUMENT, hsc_file_read_in(inner, outside[i], &bytes));
  EXPECT_CODE(NOT_FOUND, hsc_file_read_in(inner, "nothing", &bytes));
  EXPECT_OK(hsc_file_read_in(inner, "in/file", &bytes));
  EXPECT_OK(hsc_file_read_in(inner, "near", &bytes));
  assert_int_equal(bytes.size, 4);
  hsc_bytes_deinit(&bytes);
}

static void directories_are_made_with_parents(void **state) {
  EXPECT_OK(hsc_dir_make(in_directory("a/b/c")));
  EXPECT_OK(hsc_dir_make(in_directory("a/b/c")));
  EXPECT_OK(hsc_dir_make(in_directory("a/b/d/")));
  assert_true(hsc_file_exists(in_directory("a/b/c")));
  assert_false(hsc_file_exists(in_directory("a/x")));
  EXPECT_OK(hsc_file_write_atomic(in_directory("plain"), "1", 1));
  EXPECT_CODE(NOT_FOUND, hsc_dir_make(in_directory("plain")));
  EXPECT_CODE(NOT_FOUND, hsc_dir_make(in_directory("plain/below")));
}

static void cache_directory_follows_the_environment(void **state) {
  char *path = NULL;
  setenv("HLOSCOPE_CACHE_DIR", in_directory("own"), 1);
  EXPECT_OK(hsc_cache_dir(&path));
  assert_string_equal(path, in_directory("own"));
  assert_true(hsc_file_exists(path));
  hsc_free(path);
  unsetenv("HLOSCOPE_CACHE_DIR");
  setenv("XDG_CACHE_HOME", directory, 1);
  EXPECT_OK(hsc_cache_dir(&path));
  assert_string_equal(path, in_directory("hloscope"));
  hsc_free(path);
  unsetenv("XDG_CACHE_HOME");
  setenv("HOME", in_directory("home"), 1);
  EXPECT_OK(hsc_cache_dir(&path));
  assert_string_equal(path, in_directory("home/.cache/hloscope"));
  hsc_free(path);
  setenv("HLOSCOPE_CACHE_DIR", "/dev/null/below", 1);
  hsc_status *status = hsc_cache_dir(&path);
  assert_int_equal(hsc_status_code(status), HSC_NOT_FOUND);
  assert_non_null(strstr(hsc_status_hint_text(status), "HLOSCOPE_CACHE_DIR"));
  hsc_status_free(status);
  unsetenv("HLOSCOPE_CACHE_DIR");
}

// Daemons and containers have no home, or one that is not there.
static void without_a_home_the_cache_is_private(void **state) {
  char *path = NULL;
  struct stat info;
  setenv("TMPDIR", directory, 1);
  unsetenv("HOME");
  EXPECT_OK(hsc_cache_dir(&path));
  assert_true(hsc_starts_with(path, directory));
  assert_int_equal(stat(path, &info), 0);
  assert_int_equal(info.st_mode & 0777, 0700);
  setenv("HOME", "/dev/null/nobody", 1);
  char *again = NULL;
  EXPECT_OK(hsc_cache_dir(&again));
  assert_string_equal(path, again);
  hsc_free(again);
  assert_int_equal(chmod(path, 0777), 0);  // as somebody else could have made it
  EXPECT_CODE(PERMISSION_DENIED, hsc_private_dir(&again));
  assert_int_equal(chmod(path, 0700), 0);
  hsc_free(path);
  unsetenv("TMPDIR");
}

static void places_are_seen_from_the_program(void **state) {
  hsc_arena *arena = NULL;
  const char *path = NULL;
  EXPECT_OK(hsc_arena_create(&arena));
  EXPECT_OK(hsc_place_find(HSC_PLACE_MODULE, "libhloscope_cpu_pjrt.so", arena, &path));
  assert_true(path[0] == '/' && !strstr(path, ".."));
  EXPECT_OK(hsc_place_find_data("HLOSCOPE_MODELS", "models", "graphs", arena, &path));
  assert_true(hsc_ends_with(path, "/models"));
  setenv("HLOSCOPE_MODELS", "/elsewhere", 1);
  EXPECT_OK(hsc_place_find_data("HLOSCOPE_MODELS", "models", "graphs", arena, &path));
  assert_string_equal(path, "/elsewhere");
  unsetenv("HLOSCOPE_MODELS");
  hsc_status *status = hsc_place_find_data("HLOSCOPE_MODELS", "no such", "graphs", arena, &path);
  assert_int_equal(hsc_status_code(status), HSC_NOT_FOUND);
  assert_non_null(strstr(hsc_status_hint_text(status), "HLOSCOPE_MODELS"));
  hsc_status_free(status);
  hsc_arena_destroy(arena);
}

static void self_is_found(void **state) {
  char *path = NULL;
  EXPECT_OK(hsc_self_dir((const void *)(uintptr_t)&self_is_found, &path));
  char binary[512];
  snprintf(binary, sizeof binary, "%s/test_file_io", path);
  assert_true(hsc_file_exists(binary));
  hsc_free(path);
  EXPECT_CODE(NOT_FOUND, hsc_self_dir((const void *)(uintptr_t)16, &path));
}

// ---- compressed data ----

enum { PLAIN_BYTES = 500000 };
static char plain[PLAIN_BYTES];

static void fill_plain(void) {
  hsc_random random;
  hsc_random_init(&random, 5);
  for (int i = 0; i < PLAIN_BYTES; i++)
    plain[i] = (char)('a' + hsc_random_below(&random, i % 1000 < 500 ? 26 : 2));
}

static void check_decompress(const char *packed,
                             size_t packed_size,
                             const char *expected,
                             size_t size) {
  hsc_bytes out = {0};
  hsc_bytes_append_text(&out, "prefix");
  EXPECT_OK(hsc_decompress((hsc_view){packed, packed_size}, size, &out));  // exactly the limit
  assert_int_equal(out.size, size + 6);
  assert_memory_equal(out.data + 6, expected, size);
  hsc_bytes_deinit(&out);
  if (size == 0)
    return;
  EXPECT_CODE(RESOURCE_EXHAUSTED, hsc_decompress((hsc_view){packed, packed_size}, size - 1, &out));
  hsc_bytes_deinit(&out);
}

static void check_damage(char *packed, size_t size) {
  hsc_bytes out = {0};
  for (size_t cut = 5; cut < size; cut += 1 + size / 40) {
    EXPECT_CODE(DATA_LOSS, hsc_decompress((hsc_view){packed, cut}, PLAIN_BYTES, &out));
    hsc_bytes_deinit(&out);
  }
  packed[size / 2] ^= 0x55;
  EXPECT_CODE(DATA_LOSS, hsc_decompress((hsc_view){packed, size}, PLAIN_BYTES * 2, &out));
  hsc_bytes_deinit(&out);
}

static void gzip_is_read(void **state) {
  static char packed[PLAIN_BYTES * 2];
  fill_plain();
  size_t size = gzip_to(packed, sizeof packed, plain, PLAIN_BYTES);
  check_decompress(packed, size, plain, PLAIN_BYTES);
  size_t first = gzip_to(packed, sizeof packed, plain, 1000);  // two members in a row
  size = first + gzip_to(packed + first, sizeof packed - first, plain + 1000, 70000);
  check_decompress(packed, size, plain, 71000);
  size = gzip_to(packed, sizeof packed, plain, 0);
  check_decompress(packed, size, plain, 0);
  size = gzip_to(packed, sizeof packed, plain, PLAIN_BYTES);
  check_damage(packed, size);
}

static void zstd_is_read(void **state) {
  static char packed[PLAIN_BYTES * 2];
  fill_plain();
  ZSTD_CCtx *context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  size_t size = ZSTD_compress2(context, packed, sizeof packed, plain, PLAIN_BYTES);
  check_decompress(packed, size, plain, PLAIN_BYTES);
  // two frames in a row
  size_t first = ZSTD_compress2(context, packed, sizeof packed, plain, 1000);
  size =
      first + ZSTD_compress2(context, packed + first, sizeof packed - first, plain + 1000, 70000);
  check_decompress(packed, size, plain, 71000);
  size = ZSTD_compress2(context, packed, sizeof packed, plain, PLAIN_BYTES);
  check_damage(packed, size);
  ZSTD_freeCCtx(context);
}

static void plain_bytes_pass_through(void **state) {
  check_decompress("HloModule x", 11, "HloModule x", 11);
  check_decompress("", 0, "", 0);
  check_decompress("\x1f", 1, "\x1f", 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_written_reads_back),
      cmocka_unit_test(mode_and_links_are_kept),
      cmocka_unit_test(failures_leave_no_trace),
      cmocka_unit_test(what_an_interrupt_leaves),
      cmocka_unit_test(a_full_disk_is_told),
      cmocka_unit_test(failing_allocations_are_told),
      cmocka_unit_test(messages_name_the_file),
      cmocka_unit_test(devices_and_pipes_are_refused_at_once),
      cmocka_unit_test(names_stay_in_their_folder),
      cmocka_unit_test(directories_are_made_with_parents),
      cmocka_unit_test(cache_directory_follows_the_environment),
      cmocka_unit_test(without_a_home_the_cache_is_private),
      cmocka_unit_test(places_are_seen_from_the_program),
      cmocka_unit_test(self_is_found),
      cmocka_unit_test(gzip_is_read),
      cmocka_unit_test(zstd_is_read),
      cmocka_unit_test(plain_bytes_pass_through),
  };
  return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
