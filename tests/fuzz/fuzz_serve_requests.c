// fuzz_serve_requests.c - any bytes as what a client of `hloscope serve` sends: an answer of HTTP
// or a closed connection, in time, and nothing of what lies outside of the directory.
//
// The server is the real one, with its threads, on a port of 127.0.0.1. In the input the letter @
// stands for the token and ~ for the port, which a mutation does not hit.
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files/file_io.h"
#include "cli/serve_folder.h"
#include "rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char secret[] = "{\"nobody\": \"asks for this\"}";
static char folder[64];
static hsc_serve *serve;
static hsc_http_server *http;
static int port;

static void stop(hsc_status *status, const char *what) {
  if (!status)
    return;
  fprintf(stderr, "fuzz_serve_requests: %s: %s\n", what, hsc_status_message(status));
  abort();
}

static void leave(void) {
  char command[128];
  hsc_http_stop(http);
  hsc_serve_close(serve);
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  if (system(command))
    fputs("fuzz_serve_requests: a folder stays in /tmp\n", stderr);
}

static const char *in_folder(const char *name) {
  static char path[128];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static void write_file(const char *name, const char *text) {
  stop(hsc_file_write_atomic(in_folder(name), text, strlen(text)), name);
}

static void prepare(void) {
  static hsc_cli cli = {.command_name = "serve", .quiet = true};
  snprintf(folder, sizeof folder, "/tmp/hsc-fuzz-serve-XXXXXX");
  if (!mkdtemp(folder) || mkdir(in_folder("served"), 0700) || mkdir(in_folder("served/in"), 0700))
    abort();
  stop(hsc_arena_create(&cli.arena), "arena");
  write_file("secret.json", secret);
  write_file("served/a.json", "{\"checks\": [{\"name\": \"a\"}]}");
  write_file("served/in/odd name & <b>.json", "[1, 2, 3]");
  write_file("served/bad.json", "{");
  write_file("served/x.hsc", "no capture");
  if (symlink("../secret.json", in_folder("served/link.json")) ||
      mkfifo(in_folder("served/pipe.json"), 0600))
    abort();
  stop(hsc_serve_open(in_folder("served"), 100, &cli, &serve), "folder");
  stop(hsc_http_start(0, hsc_serve_token(serve), hsc_serve_answer, serve, &http, &port), "port");
  atexit(leave);
}

static void fill_in(hsc_bytes *out, const uint8_t *data, size_t size) {
  for (size_t i = 0; i < size; i++) {
    if (data[i] == '@')
      hsc_bytes_append_text(out, hsc_serve_token(serve));
    else if (data[i] == '~')
      hsc_bytes_printf(out, "%d", port);
    else
      hsc_bytes_append_char(out, (char)data[i]);
  }
}

// A signal (libFuzzer's clock has one) interrupts the wait, not the connection: it goes on.
static bool connects(int fd, const struct sockaddr_in *address) {
  struct pollfd one = {.fd = fd, .events = POLLOUT};
  int error = 0;
  socklen_t size = sizeof error;
  if (!connect(fd, (const struct sockaddr *)address, sizeof *address))
    return true;
  if (errno != EINTR)
    return false;
  while (poll(&one, 1, -1) < 0 && errno == EINTR)
    continue;
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size))
    return false;
  errno = error;
  return !error;
}

// Closed without waiting, so that no port is kept for the one who closed first.
static int open_connection(void) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  struct linger at_once = {.l_onoff = 1, .l_linger = 0};
  if (fd >= 0)
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  if (fd < 0 || !connects(fd, &address)) {
    perror(fd < 0 ? "fuzz_serve_requests: socket" : "fuzz_serve_requests: connect");
    abort();
  }
  return fd;
}

// Everything that comes until the server closes or says nothing for a while, because it waits for
// more of the request.
static void receive(int fd, int quiet_ms, hsc_bytes *out) {
  enum { MOST = 1 << 22 };
  char piece[16384];
  struct pollfd one = {.fd = fd, .events = POLLIN};
  while (out->size < MOST) {
    int ready = poll(&one, 1, quiet_ms);
    ssize_t got = ready > 0 ? recv(fd, piece, sizeof piece, 0) : ready;
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      break;
    hsc_bytes_append(out, piece, (size_t)got);
  }
}

// Whoever else asks is answered, whatever was sent before.
static void check_alive(void) {
  hsc_bytes request = {0};
  hsc_bytes answer = {0};
  int fd = open_connection();
  hsc_bytes_printf(&request,
                   "GET /%s/file/a.json HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: "
                   "close\r\n\r\n",
                   hsc_serve_token(serve), port);
  if (send(fd, request.data, request.size, MSG_NOSIGNAL) != (ssize_t)request.size)
    abort();
  receive(fd, 20000, &answer);
  if (answer.size < 12 || memcmp(answer.data, "HTTP/1.1 200", 12))
    fuzz_broken();
  close(fd);
  hsc_bytes_deinit(&request);
  hsc_bytes_deinit(&answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static int count;
  hsc_bytes request = {0};
  hsc_bytes answer = {0};
  if (size > 20000)
    return 0;
  if (!*folder)
    prepare();
  fill_in(&request, data, size);
  int fd = open_connection();
  if (request.size && send(fd, request.data, request.size, MSG_NOSIGNAL) > 0) {
    shutdown(fd, SHUT_WR);
    receive(fd, 20, &answer);
  }
  close(fd);
  if (answer.size && (answer.size < 7 || memcmp(answer.data, "HTTP/1.", 7)))
    fuzz_broken();
  if (answer.size && memmem(answer.data, answer.size, "asks for this", 13))
    fuzz_broken();
  if (++count % 64 == 0)
    check_alive();
  hsc_bytes_deinit(&request);
  hsc_bytes_deinit(&answer);
  return 0;
}
