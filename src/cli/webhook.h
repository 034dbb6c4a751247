// webhook.h - posts a JSON text to a URL in the background. libcurl is opened when the first text
// is sent.
#pragma once

#include "base/core/bytes.h"
#include "base/core/status.h"

typedef struct hsc_webhook hsc_webhook;
// Errors: NOT_FOUND (no libcurl on this machine), INVALID_ARGUMENT (neither http nor https),
// RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc_webhook_create(const char *url, hsc_webhook **out_webhook);
// Sends a copy on a thread of its own, with 5 s at most. Never blocks.
void hsc_webhook_send(hsc_webhook *webhook, hsc_view json);
// Waits for what is under way. Returns how many could not be delivered; *out_why (borrowed) is the
// last reason.
int hsc_webhook_close(hsc_webhook *webhook, char *out_why, size_t why_size);
