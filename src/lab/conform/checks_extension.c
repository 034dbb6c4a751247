// checks_extension.c - the extensions that JAX asks every plugin for: layouts, and arrays that go
// to other devices by a key. (The profiler has a file of its own.)
//
// Functions of extensions are not in the table, so their calls are told to the reproducer as
// comments.
#include "base/core/clock.h"
#include "lab/conform/conform_internal.h"
#include "pjrt/abi_transfers.h"

// Calls a function of an extension: true when it went well.
#define CALL(c, extension, function, args) \
  (hsc__conform_step((c), "// then %s of its extension", #function), \
   hsc__conform_went_well((c), #function, (extension)->function(args)))

// ---- layouts ------------------------------------------------------------------------------------

// A layout's text in XLA's words, "{1,0}"; the layout is freed.
static bool is_text(hsc_conform *c,
                    const PJRT_Layouts_Extension *e,
                    PJRT_Layouts_MemoryLayout *layout,
                    char out_text[64]) {
  PJRT_Layouts_MemoryLayout_Serialize_Args args =
      ARGS_OF(PJRT_Layouts_MemoryLayout_Serialize, .layout = layout);
  PJRT_Layouts_MemoryLayout_Destroy_Args destroy =
      ARGS_OF(PJRT_Layouts_MemoryLayout_Destroy, .layout = layout);
  if (!layout) {
    hsc__conform_fail(c, "a layout is NULL");
    return false;
  }
  if (!CALL(c, e, PJRT_Layouts_MemoryLayout_Serialize, &args))
    return false;
  snprintf(out_text, 64, "%.*s", (int)args.serialized_bytes_size, args.serialized_bytes);
  if (args.serialized_layout_deleter)
    args.serialized_layout_deleter(args.serialized_layout);
  if (out_text[0] != '{')
    hsc__conform_fail(c, "the text of a layout is \"%s\"", out_text);
  return CALL(c, e, PJRT_Layouts_MemoryLayout_Destroy, &destroy) && out_text[0] == '{';
}

static void look_at_executable(hsc_conform *c, const PJRT_Layouts_Extension *e) {
  PJRT_Executable *executable = hsc__conform_executable_of(c, hsc__conform_doubles);
  PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args args =
      ARGS_OF(PJRT_Layouts_PJRT_Executable_GetOutputLayouts, .executable = executable);
  if (!executable || !CALL(c, e, PJRT_Layouts_PJRT_Executable_GetOutputLayouts, &args))
    return;
  EXPECT(c, args.num_outputs == 1 && args.layouts && args.layouts[0],
         "a program of one result tells %zu layouts", args.num_outputs);
}

void hsc__conform_extension_layouts(hsc_conform *c, int number) {
  const PJRT_Layouts_Extension *e = hsc__conform_extension(
      c, PJRT_Extension_Type_Layouts,
      HSC_PJRT_SIZE_TO(PJRT_Layouts_Extension, PJRT_Layouts_PJRT_Executable_GetOutputLayouts),
      "layouts");
  PJRT_Buffer *buffer = e && !c->topology_name ? hsc__conform_some_floats(c) : NULL;
  char texts[2][64] = {"", ""};
  for (int i = 0; i < 2 && buffer; i++) {
    PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args args =
        ARGS_OF(PJRT_Layouts_PJRT_Buffer_MemoryLayout, .buffer = buffer);
    if (!CALL(c, e, PJRT_Layouts_PJRT_Buffer_MemoryLayout, &args) ||
        !is_text(c, e, args.layout, texts[i]))
      return;
  }
  EXPECT(c, !strcmp(texts[0], texts[1]), "an array's layout is %s, and then %s", texts[0],
         texts[1]);
  if (e && c->outcome == HSC_CONFORM_PASS)
    look_at_executable(c, e);
}

// ---- transfers by a key -------------------------------------------------------------------------

static const PJRT_CrossHostTransfers_Extension *transfers(hsc_conform *c) {
  return hsc__conform_extension(c, PJRT_Extension_Type_CrossHostTransfers,
                                PJRT_CrossHostTransfers_Extension_STRUCT_SIZE,
                                "cross-host transfers");
}

// Whether the event became ready within three seconds: a plugin may transfer between processes
// only.
static bool is_ready_soon(hsc_conform *c, PJRT_Event *event) {
  enum { TRIES = 3000, PAUSE_NS = 1000000 };
  PJRT_Event_IsReady_Args args = ARGS_OF(PJRT_Event_IsReady, .event = event);
  for (int i = 0; i < TRIES; i++) {
    if (c->api->PJRT_Event_IsReady(&args) != NULL || args.is_ready)
      return args.is_ready;
    hsc_sleep_ns(PAUSE_NS);
  }
  return false;
}

static int id_of(hsc_conform *c, PJRT_Device *device) {
  PJRT_Device_GetDescription_Args of = ARGS_OF(PJRT_Device_GetDescription, .device = device);
  PJRT_DeviceDescription_Id_Args id = ARGS_OF(PJRT_DeviceDescription_Id, .id = -1);
  if (!device || !OK(c, PJRT_Device_GetDescription, &of))
    return -1;
  id.device_description = of.device_description;
  return OK(c, PJRT_DeviceDescription_Id, &id) ? id.id : -1;
}

static PJRT_Event *send_to(hsc_conform *c,
                           const PJRT_CrossHostTransfers_Extension *e,
                           PJRT_Buffer *buffer,
                           int to,
                           PJRT_Transfers_Key key) {
  PJRT_Event *event = NULL;
  PJRT_Transfers_GlobalDeviceId ids[2] = {to, to};
  PJRT_Transfers_PJRT_Client_CrossHostSendBuffers_Args args =
      ARGS_OF(PJRT_Transfers_PJRT_Client_CrossHostSendBuffers, .client = c->client,
              .num_buffers = 1, .buffers = &buffer, .dst_global_device_ids = ids,
              .transfer_keys = &key, .send_events = &event);
  if (CALL(c, e, PJRT_Transfers_PJRT_Client_CrossHostSendBuffers, &args) && !event)
    hsc__conform_fail(c, "a send succeeded and gave no event");
  return event;
}

static PJRT_Buffer *receive_from(hsc_conform *c,
                                 const PJRT_CrossHostTransfers_Extension *e,
                                 PJRT_Device *device,
                                 int from,
                                 PJRT_Transfers_Key key) {
  PJRT_Buffer *buffer = NULL;
  size_t rank = 1;
  const int64_t *dims = hsc__conform_four;
  PJRT_Buffer_Type type = PJRT_Buffer_Type_F32;
  PJRT_Buffer_MemoryLayout *layout = NULL;
  PJRT_Transfers_GlobalDeviceId ids[2] = {from, from};
  PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers_Args args = ARGS_OF(
      PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers, .client = c->client, .num_shapes = 1,
      .shape_num_dims = &rank, .num_dims = &dims, .element_types = &type, .layouts = &layout,
      .device = device, .src_global_device_ids = ids, .transfer_keys = &key, .buffers = &buffer);
  if (CALL(c, e, PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers, &args) && !buffer)
    hsc__conform_fail(c, "a receive succeeded and gave no array");
  return buffer;
}

void hsc__conform_extension_transfer(hsc_conform *c, int number) {
  const PJRT_CrossHostTransfers_Extension *e = transfers(c);
  PJRT_Device *devices[2] = {NULL, NULL};
  for (size_t d = 0; d < 2 && e; d++)
    if (!(devices[d] = hsc__conform_device(c, d)))
      return;
  PJRT_Buffer *buffer = e ? hsc__conform_some_floats(c) : NULL;
  for (PJRT_Transfers_Key key = 1; key <= 2 && buffer && c->outcome == HSC_CONFORM_PASS; key++) {
    PJRT_Event *sent = NULL;
    PJRT_Buffer *got = NULL;
    if (key == 1)
      sent = send_to(c, e, buffer, id_of(c, devices[1]), key);
    if (c->outcome == HSC_CONFORM_PASS)
      got = receive_from(c, e, devices[1], id_of(c, devices[0]), key);
    if (key == 2 && got)
      sent = send_to(c, e, buffer, id_of(c, devices[1]), key);
    PJRT_Buffer_ReadyEvent_Args ready = ARGS_OF(PJRT_Buffer_ReadyEvent, .buffer = got);
    if (!sent || !got || !OK(c, PJRT_Buffer_ReadyEvent, &ready))
      return;
    if (!is_ready_soon(c, ready.event) || !is_ready_soon(c, sent)) {
      hsc__conform_absent(c, "nothing is transferred between devices of one process");
      return;
    }
    if (hsc__conform_await(c, sent, "the send") &&
        hsc__conform_await(c, ready.event, "what was received"))
      hsc__conform_expect_times(c, got, 1);
  }
}

void hsc__conform_extension_transfer_unknown(hsc_conform *c, int number) {
  enum { NOBODY = 123456789 };
  const PJRT_CrossHostTransfers_Extension *e = transfers(c);
  PJRT_Buffer *buffer = e ? hsc__conform_some_floats(c) : NULL;
  PJRT_Event *event = NULL;
  PJRT_Transfers_Key key = 3;
  PJRT_Transfers_GlobalDeviceId ids[2] = {NOBODY, NOBODY};
  PJRT_Transfers_PJRT_Client_CrossHostSendBuffers_Args args =
      ARGS_OF(PJRT_Transfers_PJRT_Client_CrossHostSendBuffers, .client = c->client,
              .num_buffers = 1, .buffers = &buffer, .dst_global_device_ids = ids,
              .transfer_keys = &key, .send_events = &event);
  if (!buffer)
    return;
  PJRT_Error *error = e->PJRT_Transfers_PJRT_Client_CrossHostSendBuffers(&args);
  if (error) {
    hsc__conform_was_refused(c, "PJRT_Transfers_PJRT_Client_CrossHostSendBuffers", error,
                             "a device that is not there");
    return;
  }
  // the error may come with the event
  PJRT_Event_Error_Args failed = ARGS_OF(PJRT_Event_Error, .event = event);
  if (event && is_ready_soon(c, event)) {
    error = c->api->PJRT_Event_Error(&failed);
    hsc__conform_was_refused(c, "the event of a send", error, "a device that is not there");
  }
}
