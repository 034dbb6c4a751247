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
#include <pthread.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TOKEN_LENGTH = 32, THREADS = 4 };

// Half-open connections are given up after this; as many as a process has descriptors for (half of
// the usual 1024) are taken before new ones wait.
enum { IDLE_SECONDS = 15, MOST_CONNECTIONS = 512 };

struct hsc_http_server {
  struct MHD_Daemon *daemon;
  char token[TOKEN_LENGTH + 1];
  int port;
  void (*answer)(void *, const hsc_http_request *, hsc_http_response *);
  void *user;
  pthread_mutex_t lock;  // of answer
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

static enum MHD_Result count_host(void *user,
                                  enum MHD_ValueKind kind,
                                  const char *key,
                                  const char *value) {
  *(int *)user += !strcasecmp(key, "Host");
  return MHD_YES;
}

// A page of another site that has its name point here would come with its own name. Two Host
// headers are refused: something on the way may have looked at the other one.
static bool is_own_host(const hsc_http_server *s, struct MHD_Connection *connection) {
  char own[2][32];
  snprintf(own[0], sizeof own[0], "127.0.0.1:%d", s->port);
  snprintf(own[1], sizeof own[1], "localhost:%d", s->port);
  int hosts = 0;
  MHD_get_connection_values(connection, MHD_HEADER_KIND, count_host, &hosts);
  const char *host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host");
  return hosts == 1 && host && (!strcmp(host, own[0]) || !strcmp(host, own[1]));
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
  if (!response)
    return MHD_NO;
  headers(response, "text/plain; charset=utf-8");
  enum MHD_Result result = MHD_queue_response(connection, status, response);
  MHD_destroy_response(response);
  return result;
}

typedef enum range_kind {
  RANGE_NONE,     // none, several, or not understood: the whole is sent (RFC 9110, 14.2)
  RANGE_PART,     // [from, to], inside the file
  RANGE_OUTSIDE,  // nothing of the file: 416
} range_kind;

// Digits to *out, which stays at UINT64_MAX when there are more than fit. Returns what follows.
static const char *read_digits(const char *text, uint64_t *out) {
  *out = 0;
  for (; *text >= '0' && *text <= '9'; text++) {
    uint64_t digit = (uint64_t)(*text - '0');
    bool fits = *out <= (UINT64_MAX - digit) / 10;
    *out = fits ? *out * 10 + digit : UINT64_MAX;
  }
  return text;
}

// "bytes=FROM-TO", "bytes=FROM-" or "bytes=-LAST".
static range_kind read_range(const char *text,
                             uint64_t size,
                             uint64_t *out_from,
                             uint64_t *out_to) {
  uint64_t from, to;
  if (!text || strncmp(text, "bytes=", 6))
    return RANGE_NONE;
  text += 6;
  const char *dash = read_digits(text, &from);
  const char *end = *dash == '-' ? read_digits(dash + 1, &to) : dash;
  if (*dash != '-' || *end || (dash == text && end == dash + 1))
    return RANGE_NONE;
  if (dash == text) {  // the last `to` bytes
    *out_from = to < size ? size - to : 0;
    *out_to = size - 1;
    return to == 0 || size == 0 ? RANGE_OUTSIDE : RANGE_PART;
  }
  if (end == dash + 1)
    to = UINT64_MAX;
  if (to < from)
    return RANGE_NONE;
  *out_from = from;
  *out_to = to < size ? to : size - 1;
  return from < size ? RANGE_PART : RANGE_OUTSIDE;
}

static enum MHD_Result send_outside(struct MHD_Connection *connection, const char *range) {
  static const char text[] = "This range lies outside of the file.\n";
  struct MHD_Response *response = MHD_create_response_from_buffer(
      sizeof text - 1, (void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT);
  if (!response)
    return MHD_NO;
  headers(response, "text/plain; charset=utf-8");
  MHD_add_response_header(response, "Content-Range", range);
  enum MHD_Result result = MHD_queue_response(connection, MHD_HTTP_RANGE_NOT_SATISFIABLE, response);
  MHD_destroy_response(response);
  return result;
}

static enum MHD_Result send_file(struct MHD_Connection *connection,
                                 const char *path,
                                 const char *type) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat info;
  if (fd < 0 || fstat(fd, &info) || !S_ISREG(info.st_mode)) {
    if (fd >= 0)
      close(fd);
    return send_text(connection, MHD_HTTP_NOT_FOUND, "This file cannot be read.\n");
  }
  uint64_t size = (uint64_t)info.st_size;
  uint64_t from = 0;
  uint64_t to = size ? size - 1 : 0;
  char range[96];
  range_kind kind = read_range(MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Range"),
                               size, &from, &to);
  if (kind == RANGE_OUTSIDE) {
    close(fd);
    snprintf(range, sizeof range, "bytes */%llu", (unsigned long long)size);
    return send_outside(connection, range);
  }
  bool part = kind == RANGE_PART;
  struct MHD_Response *response =
      MHD_create_response_from_fd_at_offset64(size ? to - from + 1 : 0, fd, from);
  if (!response) {
    close(fd);
    return MHD_NO;
  }
  headers(response, type);
  MHD_add_response_header(response, "Accept-Ranges", "bytes");
  if (part) {
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
  pthread_mutex_lock(&s->lock);
  s->answer(s->user, &request, &answer);
  pthread_mutex_unlock(&s->lock);
  if (answer.file[0] && answer.status == 200) {
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
  pthread_mutex_init(&s->lock, NULL);
  snprintf(s->token, sizeof s->token, "%s", token);
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  errno = 0;
  s->daemon = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_AUTO, (uint16_t)port, NULL,
                               NULL, handle, s, MHD_OPTION_SOCK_ADDR, &address,
                               MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS,
                               MHD_OPTION_CONNECTION_LIMIT, (unsigned)MOST_CONNECTIONS,
                               MHD_OPTION_THREAD_POOL_SIZE, (unsigned)THREADS, MHD_OPTION_END);
  if (!s->daemon) {
    pthread_mutex_destroy(&s->lock);
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
  pthread_mutex_destroy(&server->lock);
  hsc_free(server);
}

#endif
