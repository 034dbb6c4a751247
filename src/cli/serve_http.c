// serve_http.c - libmicrohttpd with the rules of serve_http.h, or an error by name where it was not
// there at build time.
#include "base/core/memory.h"
#include "cli/serve_http.h"

#ifndef HSC_HAVE_MICROHTTPD

hsc_status *hsc_http_start(int port,
                           const char *token,
                           void (*answer)(void *, const hsc_http_request *, hsc_http_response *),
                           void *user,
                           hsc_http_server **out_server,
                           int *out_port) {
  return hsc_status_hint(
      HSC_ERR(UNIMPLEMENTED, "this hloscope was built without libmicrohttpd, which serve needs"),
      "install libmicrohttpd-dev, then build again; `hloscope report` makes the same page as a "
      "file");
}

void hsc_http_stop(hsc_http_server *server) {}

#else

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TOKEN_LENGTH = 32 };

struct hsc_http_server {
  struct MHD_Daemon *daemon;
  char token[TOKEN_LENGTH + 1];
  int port;
  void (*answer)(void *, const hsc_http_request *, hsc_http_response *);
  void *user;
};

static const char *query_value(void *connection, const char *key) {
  return MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, key);
}

// Compared without telling by the time how much of it was right.
static bool is_token(const char *path, const char *token) {
  unsigned char wrong = 0;
  if (strlen(path) < TOKEN_LENGTH)
    return false;
  for (int i = 0; i < TOKEN_LENGTH; i++)
    wrong |= (unsigned char)(path[i] ^ token[i]);
  return !wrong && (path[TOKEN_LENGTH] == '/' || !path[TOKEN_LENGTH]);
}

// A page of another site that has its name point here would come with its own name.
static bool is_own_host(const hsc_http_server *s, struct MHD_Connection *connection) {
  char own[2][32];
  snprintf(own[0], sizeof own[0], "127.0.0.1:%d", s->port);
  snprintf(own[1], sizeof own[1], "localhost:%d", s->port);
  const char *host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host");
  return host && (!strcmp(host, own[0]) || !strcmp(host, own[1]));
}

static void headers(struct MHD_Response *response, const char *type) {
  MHD_add_response_header(response, "Content-Type", type);
  MHD_add_response_header(response, "Cache-Control", "no-store");
  MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
  MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
  MHD_add_response_header(response, "X-Frame-Options", "DENY");
}

static enum MHD_Result send_text(struct MHD_Connection *connection,
                                 unsigned status,
                                 const char *text) {
  struct MHD_Response *response =
      MHD_create_response_from_buffer(strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);
  headers(response, "text/plain; charset=utf-8");
  enum MHD_Result result = MHD_queue_response(connection, status, response);
  MHD_destroy_response(response);
  return result;
}

// "bytes=FROM-TO", one range; false when there is none or it is not understood (then the whole is
// sent).
static bool read_range(const char *text, uint64_t size, uint64_t *out_from, uint64_t *out_to) {
  if (!text || strncmp(text, "bytes=", 6) || strchr(text, ',') || size == 0)
    return false;
  char *end;
  text += 6;
  if (*text == '-') {
    uint64_t last = strtoull(text + 1, &end, 10);
    if (*end || !last)
      return false;
    *out_from = last < size ? size - last : 0;
    *out_to = size - 1;
    return true;
  }
  *out_from = strtoull(text, &end, 10);
  if (end == text || *end != '-')
    return false;
  *out_to = end[1] ? strtoull(end + 1, &end, 10) : size - 1;
  if (*out_to >= size)
    *out_to = size - 1;
  return *out_from <= *out_to;
}

static enum MHD_Result send_file(struct MHD_Connection *connection,
                                 const char *path,
                                 const char *type) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  struct stat info;
  if (fd < 0 || fstat(fd, &info) || !S_ISREG(info.st_mode)) {
    if (fd >= 0)
      close(fd);
    return send_text(connection, MHD_HTTP_NOT_FOUND, "This file cannot be read.\n");
  }
  uint64_t size = (uint64_t)info.st_size;
  uint64_t from = 0;
  uint64_t to = size ? size - 1 : 0;
  bool part = read_range(MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Range"), size,
                         &from, &to);
  struct MHD_Response *response =
      MHD_create_response_from_fd_at_offset64(size ? to - from + 1 : 0, fd, from);
  headers(response, type);
  MHD_add_response_header(response, "Accept-Ranges", "bytes");
  if (part) {
    char range[96];
    snprintf(range, sizeof range, "bytes %llu-%llu/%llu", (unsigned long long)from,
             (unsigned long long)to, (unsigned long long)size);
    MHD_add_response_header(response, "Content-Range", range);
  }
  enum MHD_Result result =
      MHD_queue_response(connection, part ? MHD_HTTP_PARTIAL_CONTENT : MHD_HTTP_OK, response);
  MHD_destroy_response(response);
  return result;
}

static enum MHD_Result handle(void *cls,
                              struct MHD_Connection *connection,
                              const char *url,
                              const char *method,
                              const char *version,
                              const char *upload,
                              size_t *upload_size,
                              void **state) {
  hsc_http_server *s = cls;
  if (strcmp(method, "GET") && strcmp(method, "HEAD"))
    return send_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "Only GET is answered.\n");
  if (!is_own_host(s, connection))
    return send_text(connection, MHD_HTTP_FORBIDDEN, "This server answers on 127.0.0.1 only.\n");
  if (url[0] != '/' || !is_token(url + 1, s->token))
    return send_text(connection, MHD_HTTP_FORBIDDEN,
                     "The address lacks its token: use the one that hloscope serve printed.\n");
  const char *path = url + 1 + TOKEN_LENGTH;
  hsc_http_request request = {
      .path = *path ? path + 1 : "", .query = query_value, .connection = connection};
  hsc_http_response answer = {.status = 200, .type = "text/plain; charset=utf-8"};
  s->answer(s->user, &request, &answer);
  if (answer.file && answer.status == 200) {
    hsc_bytes_deinit(&answer.body);
    return send_file(connection, answer.file, answer.type);
  }
  if (answer.body.failed) {
    hsc_bytes_deinit(&answer.body);
    return send_text(connection, MHD_HTTP_INTERNAL_SERVER_ERROR,
                     "There is not enough memory for this page.\n");
  }
  // The library gives the buffer back with free, the same that hsc_free ends in; a copy keeps the
  // two apart.
  struct MHD_Response *response = MHD_create_response_from_buffer(
      answer.body.size, answer.body.data ? (void *)answer.body.data : (void *)(uintptr_t)"",
      MHD_RESPMEM_MUST_COPY);
  hsc_bytes_deinit(&answer.body);
  if (!response)
    return MHD_NO;
  headers(response, answer.type);
  enum MHD_Result result = MHD_queue_response(connection, (unsigned)answer.status, response);
  MHD_destroy_response(response);
  return result;
}

hsc_status *hsc_http_start(int port,
                           const char *token,
                           void (*answer)(void *, const hsc_http_request *, hsc_http_response *),
                           void *user,
                           hsc_http_server **out_server,
                           int *out_port) {
  hsc_http_server *s = hsc_alloc(sizeof *s);
  if (!s)
    return hsc_status_out_of_memory();
  *s = (hsc_http_server){.answer = answer, .user = user};
  snprintf(s->token, sizeof s->token, "%s", token);
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  errno = 0;
  s->daemon =
      MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_AUTO, (uint16_t)port, NULL, NULL,
                       handle, s, MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_CONNECTION_TIMEOUT,
                       120u, MHD_OPTION_CONNECTION_LIMIT, 64u, MHD_OPTION_END);
  if (!s->daemon) {
    hsc_free(s);
    return hsc_status_hint(HSC_ERR(UNAVAILABLE, "port %d of 127.0.0.1 cannot be opened%s%s", port,
                                   errno ? ": " : "", errno ? strerror(errno) : ""),
                           "--port 0 takes any free one");
  }
  const union MHD_DaemonInfo *info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT);
  s->port = *out_port = info ? info->port : port;
  *out_server = s;
  return NULL;
}

void hsc_http_stop(hsc_http_server *server) {
  if (!server)
    return;
  MHD_stop_daemon(server->daemon);
  hsc_free(server);
}

#endif
