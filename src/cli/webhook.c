// webhook.c - libcurl by dlopen, so that programs that send nothing do not load it.
#include "base/core/memory.h"
#include "base/text/text.h"
#include "cli/webhook.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <pthread.h>

enum { SENDERS_MAX = 64, LIMIT_S = 5 };

typedef struct sender {
  hsc_webhook *webhook;
  pthread_t thread;
  char *text;
  size_t size;
} sender;

struct hsc_webhook {
  const char *url;
  void *library;
  CURL *(*init)(void);
  CURLcode (*setopt)(CURL *handle, CURLoption option, ...);
  CURLcode (*perform)(CURL *handle);
  CURLcode (*getinfo)(CURL *handle, CURLINFO info, ...);
  void (*cleanup)(CURL *handle);
  struct curl_slist *(*slist_append)(struct curl_slist *list, const char *text);
  void (*slist_free)(struct curl_slist *list);
  const char *(*strerror)(CURLcode code);
  sender senders[SENDERS_MAX];
  int count, dropped;
  pthread_mutex_t lock;
  int failed;     // under the lock
  char why[200];  // under the lock
};

static bool find(void *library, const char *name, void *out_function) {
  void *symbol = dlsym(library, name);
  memcpy(out_function, &symbol, sizeof symbol);
  return symbol != NULL;
}

hsc_status *hsc_webhook_create(const char *url, hsc_webhook **out_webhook) {
  if (!hsc_starts_with(url, "http://") && !hsc_starts_with(url, "https://"))
    return HSC_ERR(INVALID_ARGUMENT, "'%s' is no http or https address", url);
  hsc_webhook *w = hsc_alloc(sizeof *w);
  if (!w)
    return hsc_status_out_of_memory();
  w->url = url;
  pthread_mutex_init(&w->lock, NULL);
  static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl.so"};
  for (size_t i = 0; i < HSC_COUNT_OF(names) && !w->library; i++)
    w->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
  CURLcode (*global)(long flags) = NULL;
  bool whole = w->library && find(w->library, "curl_easy_init", &w->init) &&
               find(w->library, "curl_easy_setopt", &w->setopt) &&
               find(w->library, "curl_easy_perform", &w->perform) &&
               find(w->library, "curl_easy_getinfo", &w->getinfo) &&
               find(w->library, "curl_easy_cleanup", &w->cleanup) &&
               find(w->library, "curl_slist_append", &w->slist_append) &&
               find(w->library, "curl_slist_free_all", &w->slist_free) &&
               find(w->library, "curl_easy_strerror", &w->strerror) &&
               find(w->library, "curl_global_init", &global);
  if (!whole) {
    hsc_free(w);
    return hsc_status_hint(HSC_ERR(NOT_FOUND, "libcurl.so.4 is not on this machine"),
                           "install libcurl4, or use --run with another program that sends");
  }
  global(CURL_GLOBAL_DEFAULT);
  *out_webhook = w;
  return NULL;
}

static size_t swallow(char *data, size_t size, size_t count, void *user) {
  return size * count;
}

static void *send_text(void *user) {
  sender *s = user;
  hsc_webhook *w = s->webhook;
  CURL *handle = w->init();
  char why[200] = "out of memory";
  bool sent = false;
  if (handle) {
    struct curl_slist *headers = w->slist_append(NULL, "Content-Type: application/json");
    long code = 0;
    w->setopt(handle, CURLOPT_URL, w->url);
    w->setopt(handle, CURLOPT_POST, 1L);
    w->setopt(handle, CURLOPT_POSTFIELDS, s->text);
    w->setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)s->size);
    w->setopt(handle, CURLOPT_HTTPHEADER, headers);
    w->setopt(handle, CURLOPT_TIMEOUT, (long)LIMIT_S);
    w->setopt(handle, CURLOPT_NOSIGNAL, 1L);
    w->setopt(handle, CURLOPT_USERAGENT, "hloscope/" HSC_VERSION);
    w->setopt(handle, CURLOPT_WRITEFUNCTION, swallow);
    CURLcode result = w->perform(handle);
    if (result == CURLE_OK)
      w->getinfo(handle, CURLINFO_RESPONSE_CODE, &code);
    sent = result == CURLE_OK && code >= 200 && code < 300;
    if (result != CURLE_OK)
      snprintf(why, sizeof why, "%s", w->strerror(result));
    else if (!sent)
      snprintf(why, sizeof why, "the server answered %ld", code);
    w->slist_free(headers);
    w->cleanup(handle);
  }
  if (!sent) {
    pthread_mutex_lock(&w->lock);
    w->failed++;
    memcpy(w->why, why, sizeof why);
    pthread_mutex_unlock(&w->lock);
  }
  return NULL;
}

void hsc_webhook_send(hsc_webhook *w, hsc_view json) {
  sender *s = w->count < SENDERS_MAX ? &w->senders[w->count] : NULL;
  if (!s) {
    w->dropped++;
    return;
  }
  *s = (sender){.webhook = w, .text = hsc_alloc(json.size + 1), .size = json.size};
  if (s->text)
    memcpy(s->text, json.data, json.size);
  if (!s->text || pthread_create(&s->thread, NULL, send_text, s)) {
    hsc_free(s->text);
    w->dropped++;
    return;
  }
  w->count++;
}

int hsc_webhook_close(hsc_webhook *w, char *out_why, size_t why_size) {
  if (!w)
    return 0;
  for (int i = 0; i < w->count; i++) {
    pthread_join(w->senders[i].thread, NULL);
    hsc_free(w->senders[i].text);
  }
  int failed = w->failed + w->dropped;
  const char *why = w->dropped ? "too many alerts at once" : "";
  snprintf(out_why, why_size, "%s", w->failed ? w->why : why);
  pthread_mutex_destroy(&w->lock);
  hsc_free(w);
  return failed;
}
