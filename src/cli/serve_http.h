// serve_http.h - an HTTP server for one reader on this machine: 127.0.0.1 only, a token in every
// address.
//
// The server knows nothing of what it shows: `answer` gets the path after the token and fills the
// response, one request at a time. Requests that are refused, that are slow or that ask for a
// file's bytes keep nobody waiting.
#pragma once

#include "base/core/bytes.h"
#include "base/core/status.h"

typedef struct hsc_http_request {
  // decoded, after "/TOKEN/"; "" is the root
  const char *path;
  // a decoded value, NULL when it is not there
  const char *(*query)(void *connection, const char *key);
  void *connection;
} hsc_http_request;

typedef struct hsc_http_response {
  int status;        // 200, 404, ...
  const char *type;  // "text/html; charset=utf-8"
  hsc_bytes body;    // or, when not "":
  char file[4096];   // this file's bytes, with ranges
} hsc_http_response;

typedef struct hsc_http_server hsc_http_server;
// port 0: any free one. `token` has 32 hexadecimal digits. Errors: UNIMPLEMENTED where
// libmicrohttpd was not there at build time; UNAVAILABLE (port taken).
HSC_MUST_USE hsc_status *hsc_http_start(int port,
                                        const char *token,
                                        void (*answer)(void *user,
                                                       const hsc_http_request *request,
                                                       hsc_http_response *response),
                                        void *user,
                                        hsc_http_server **out_server,
                                        int *out_port);
void hsc_http_stop(hsc_http_server *server);  // NULL is fine
