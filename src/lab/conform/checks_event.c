// checks_event.c - events: readiness, callbacks, ends.
#include <pthread.h>
#include <stdatomic.h>

#include "base/core/clock.h"
#include "lab/conform/conform_internal.h"

typedef struct called_back {
  _Atomic int count, errors;
  hsc_conform *c;
} called_back;

static void on_ready(PJRT_Error *error, void *user) {
  called_back *seen = user;
  if (error) {
    atomic_fetch_add(&seen->errors, 1);
    hsc__conform_error_free(seen->c, error);
  }
  atomic_fetch_add(&seen->count, 1);
}

// Waits up to two seconds for that many calls.
static int count_after_a_while(called_back *seen, int wanted) {
  enum { TRIES = 2000, PAUSE_NS = 1000000 };
  for (int i = 0; i < TRIES && atomic_load(&seen->count) < wanted; i++)
    hsc_sleep_ns(PAUSE_NS);
  return atomic_load(&seen->count);
}

// The ready event of a fresh array; NULL ends the check.
static PJRT_Event *some_event(hsc_conform *c) {
  static const float values[4] = {1, 2, 3, 4};
  static const int64_t dims[1] = {4};
  PJRT_Buffer_ReadyEvent_Args args = ARGS_OF(
      PJRT_Buffer_ReadyEvent,
      .buffer = hsc__conform_upload(c, PJRT_Buffer_Type_F32, dims, 1, values, sizeof values));
  return args.buffer && OK(c, PJRT_Buffer_ReadyEvent, &args) ? args.event : NULL;
}

static bool add_callback(hsc_conform *c, PJRT_Event *event, called_back *seen) {
  seen->c = c;
  PJRT_Event_OnReady_Args args =
      ARGS_OF(PJRT_Event_OnReady, .event = event, .callback = on_ready, .user_arg = seen);
  return OK(c, PJRT_Event_OnReady, &args);
}

static bool destroy_event(hsc_conform *c, PJRT_Event *event) {
  PJRT_Event_Destroy_Args args = ARGS_OF(PJRT_Event_Destroy, .event = event);
  return OK(c, PJRT_Event_Destroy, &args);
}

static bool await(hsc_conform *c, PJRT_Event *event) {
  PJRT_Event_Await_Args args = ARGS_OF(PJRT_Event_Await, .event = event);
  return OK(c, PJRT_Event_Await, &args);
}

void hsc__conform_event_await(hsc_conform *c, int number) {
  PJRT_Event *event = some_event(c);
  if (!event || !await(c, event) || !await(c, event))
    return;
  PJRT_Event_IsReady_Args ready = ARGS_OF(PJRT_Event_IsReady, .event = event);
  PJRT_Event_Error_Args error = ARGS_OF(PJRT_Event_Error, .event = event);
  if (!OK(c, PJRT_Event_IsReady, &ready) || !OK(c, PJRT_Event_Error, &error))
    return;
  EXPECT(c, ready.is_ready, "IsReady says no after Await");
  destroy_event(c, event);
}

void hsc__conform_event_callback(hsc_conform *c, int number) {
  static called_back seen;
  PJRT_Event *event = some_event(c);
  if (!event || !add_callback(c, event, &seen))
    return;
  int count = count_after_a_while(&seen, 1);
  EXPECT(c, count == 1, "the callback was called %d times within two seconds", count);
  EXPECT(c, atomic_load(&seen.errors) == 0, "it was given an error");
  destroy_event(c, event);
}

void hsc__conform_event_callback_late(hsc_conform *c, int number) {
  static called_back seen;
  PJRT_Event *event = some_event(c);
  if (!event || !await(c, event) || !add_callback(c, event, &seen))
    return;
  int count = count_after_a_while(&seen, 1);
  EXPECT(c, count == 1, "the callback of a ready event was called %d times", count);
  destroy_event(c, event);
}

void hsc__conform_event_callbacks(hsc_conform *c, int number) {
  enum { COUNT = 16 };
  static called_back seen;
  PJRT_Event *event = some_event(c);
  for (int i = 0; event && i < COUNT; i++)
    if (!add_callback(c, event, &seen))
      return;
  if (!event)
    return;
  int count = count_after_a_while(&seen, COUNT);
  hsc_sleep_ns(2000000);
  count = atomic_load(&seen.count);
  EXPECT(c, count == COUNT, "%d callbacks were called %d times", COUNT, count);
  destroy_event(c, event);
}

void hsc__conform_event_destroy_early(hsc_conform *c, int number) {
  static called_back seen;
  PJRT_Event *event = some_event(c);
  if (!event || !add_callback(c, event, &seen) || !destroy_event(c, event))
    return;
  int count = count_after_a_while(&seen, 1);
  EXPECT(c, count == 1, "the callback was called %d times after the event was destroyed", count);
}

void hsc__conform_event_set(hsc_conform *c, int number) {
  static const char message[] = "set by the check";
  if (!hsc__conform_client(c))
    return;
  PJRT_Event_Create_Args make = ARGS_OF(PJRT_Event_Create, .event = NULL);
  if (!OK(c, PJRT_Event_Create, &make))
    return;
  PJRT_Event_IsReady_Args ready = ARGS_OF(PJRT_Event_IsReady, .event = make.event);
  if (!OK(c, PJRT_Event_IsReady, &ready))
    return;
  EXPECT(c, !ready.is_ready, "an event that nobody has set is ready");
  PJRT_Event_Set_Args set =
      ARGS_OF(PJRT_Event_Set, .event = make.event, .error_code = PJRT_Error_Code_ABORTED,
              .error_message = message, .error_message_size = sizeof message - 1);
  if (!OK(c, PJRT_Event_Set, &set))
    return;
  PJRT_Event_Await_Args wait = ARGS_OF(PJRT_Event_Await, .event = make.event);
  bool called;
  PJRT_Error *error = hsc__conform_call(c, HSC_FN_PJRT_Event_Await, &wait, &called);
  EXPECT(c, error, "the event was set to an error and Await gave none");
  PJRT_Error_Code code = hsc__conform_code(c, error);
  hsc__conform_error_free(c, error);
  EXPECT(c, code == PJRT_Error_Code_ABORTED, "ABORTED came out as code %d", (int)code);
  destroy_event(c, make.event);
}

// The ready event of an array that has failed; NULL ends the check.
static PJRT_Event *failed_event(hsc_conform *c) {
  PJRT_Buffer_ReadyEvent_Args args =
      ARGS_OF(PJRT_Buffer_ReadyEvent, .buffer = hsc__conform_failed_floats(c, "made to fail"));
  return args.buffer && OK(c, PJRT_Buffer_ReadyEvent, &args) ? args.event : NULL;
}

void hsc__conform_event_callback_error(hsc_conform *c, int number) {
  static called_back seen;
  PJRT_Event *event = failed_event(c);
  if (!event || !add_callback(c, event, &seen))
    return;
  int count = count_after_a_while(&seen, 1);
  EXPECT(c, count == 1, "the callback of an event that has failed was called %d times", count);
  EXPECT(c, atomic_load(&seen.errors) == 1, "the event has failed, and its callback got no error");
  destroy_event(c, event);
}

void hsc__conform_event_error_again(hsc_conform *c, int number) {
  PJRT_Event *event = failed_event(c);
  for (int i = 0; event && i < 3; i++) {
    PJRT_Event_Await_Args wait = ARGS_OF(PJRT_Event_Await, .event = event);
    PJRT_Event_Error_Args ask = ARGS_OF(PJRT_Event_Error, .event = event);
    bool called;
    PJRT_Error *error = i == 1 ? hsc__conform_call(c, HSC_FN_PJRT_Event_Error, &ask, &called)
                               : hsc__conform_call(c, HSC_FN_PJRT_Event_Await, &wait, &called);
    if (!called)
      return;
    EXPECT(c, error, "an event that has failed has no error when it is asked again (answer %d)",
           i + 1);
    PJRT_Error_Code code = hsc__conform_code(c, error);
    hsc__conform_error_free(c, error);
    EXPECT(c, code == PJRT_Error_Code_DATA_LOSS, "DATA_LOSS came out as code %d (answer %d)",
           (int)code, i + 1);
  }
  if (event)
    destroy_event(c, event);
}
