// plugin_cross_host.c - arrays that go from a device of one process to a device of another, as
// jax.device_put wants: the extension CrossHostTransfers.
//
// The two processes name a transfer by its key and its two devices and do not wait for each other:
// each call starts a thread that does its transfers one after the other, over the connections of
// plugin_peers.c. On the wire arrays are row-major. Between two devices of one process it works
// alike.
#include <pthread.h>

#include "pjrt/abi_transfers.h"
#include "plugin/plugin_internal.h"
#include "plugin/plugin_peers.h"

// No step of a program: where the messages of collectives have their thunk.
enum { TRANSFER = -1 };

typedef struct transfer {
  hsc__block *block;  // referenced
  PJRT_Event *ready;  // of the source: NULL = it is; of what is received: set by us. Referenced
  PJRT_Event *sent;   // of what is sent; referenced
  size_t bytes;
  hsc_type type;
  int rank;
  int64_t dims[HSC_MAX_RANK];
  const PJRT_Layouts_MemoryLayout *layout;  // of the block; NULL = row-major
  int process;                              // the other one
  hsc_cpu_message message;
} transfer;

typedef struct batch {  // of one call
  PJRT_Client *client;  // held
  bool is_sending;
  size_t count;
  transfer all[];
} batch;

static void destroy_batch(batch *b) {
  for (size_t i = 0; i < b->count; i++) {
    if (b->all[i].block)
      hsc__block_release(b->client, b->all[i].block);
    hsc__event_release(b->all[i].ready);
    hsc__event_release(b->all[i].sent);
  }
  hsc__client_release(b->client);
  hsc_free(b);
}

static batch *create_batch(PJRT_Client *client, size_t count, bool is_sending) {
  batch *b = hsc_alloc(sizeof *b + count * sizeof(transfer));
  if (!b)
    return NULL;
  hsc__client_retain(client);
  b->client = client;
  b->count = count;
  b->is_sending = is_sending;
  return b;
}

// ---- a transfer ---------------------------------------------------------------------------------

static void copy_to_order(const transfer *t, void *to, const void *from, bool is_row_major_wanted) {
  int64_t own[HSC_MAX_RANK];
  int64_t plain[HSC_MAX_RANK];
  size_t element_bytes = hsc_type_bytes(t->type);
  hsc__layout_strides(t->layout, t->dims, t->rank, element_bytes, own);
  hsc__layout_strides(NULL, t->dims, t->rank, element_bytes, plain);
  hsc__host_copy_strided(to, is_row_major_wanted ? plain : own, from,
                         is_row_major_wanted ? own : plain, t->dims, t->rank, element_bytes);
}

// What the contents of the source failed with, as a status; NULL when they are there.
static hsc_status *wait_for_source(const transfer *t) {
  PJRT_Error *error = t->ready ? hsc__event_wait(t->ready) : NULL;
  if (!error)
    return NULL;
  PJRT_Error_Message_Args message = {.struct_size = PJRT_Error_Message_Args_STRUCT_SIZE,
                                     .error = error};
  PJRT_Error_Destroy_Args destroy = {.struct_size = PJRT_Error_Destroy_Args_STRUCT_SIZE,
                                     .error = error};
  hsc__PJRT_Error_Message(&message);
  hsc_status *status = HSC_ERR(FAILED_PRECONDITION, "the array that is sent has an error: %.*s",
                               (int)message.message_size, message.message);
  hsc__PJRT_Error_Destroy(&destroy);
  return status;
}

static hsc_status *send_one(hsc__peers *peers, const transfer *t) {
  HSC_TRY(wait_for_source(t));
  if (!t->layout || t->bytes == 0)
    return hsc__peers_send(peers, t->process, &t->message, t->block->data, t->bytes);
  void *plain = hsc_alloc(t->bytes);
  if (!plain)
    return hsc_status_out_of_memory();
  copy_to_order(t, plain, t->block->data, true);
  hsc_status *status = hsc__peers_send(peers, t->process, &t->message, plain, t->bytes);
  hsc_free(plain);
  return status;
}

static hsc_status *receive_one(hsc__peers *peers, const transfer *t) {
  void *plain = t->layout && t->bytes > 0 ? hsc_alloc(t->bytes) : t->block->data;
  if (!plain)
    return hsc_status_out_of_memory();
  hsc_status *status = hsc__peers_receive(peers, t->process, &t->message, plain, t->bytes);
  if (plain != t->block->data) {
    if (!status)
      copy_to_order(t, t->block->data, plain, false);
    hsc_free(plain);
  }
  return status;
}

static void set_event(PJRT_Event *event, hsc_status *status) {
  const char *text = hsc_status_message(status);
  hsc__event_set(event, (int)hsc_status_code(status), text, strlen(text));
}

static void *run_batch(void *argument) {
  batch *b = argument;
  hsc__peers *peers = b->client->peers;
  for (size_t i = 0; i < b->count; i++) {
    transfer *t = &b->all[i];
    hsc_status *status = b->is_sending ? send_one(peers, t) : receive_one(peers, t);
    if (status && b->is_sending)
      hsc__peers_give_up_to(peers, t->process, t->message.run);
    else if (status)
      hsc__peers_forget(peers, t->message.run);
    set_event(b->is_sending ? t->sent : t->ready, status);
    hsc_status_free(status);
  }
  destroy_batch(b);
  return NULL;
}

// Takes the batch.
static hsc_status *start(batch *b) {
  pthread_t thread;
  int error = pthread_create(&thread, NULL, run_batch, b);
  if (error) {
    destroy_batch(b);
    return hsc_status_errno(error, "cannot start a thread for a transfer", "pthread_create");
  }
  pthread_detach(thread);
  return NULL;
}

// Both processes make the same name of a key and two devices.
static hsc_cpu_message name_of(PJRT_Transfers_Key key, int from, int to) {
  const int64_t parts[3] = {key, from, to};
  return (hsc_cpu_message){
      .run = hsc_hash64(parts, sizeof parts, 1), .thunk = TRANSFER, .member = from, .buffer = to};
}

static hsc_status *other_device(const PJRT_Client *client, int id, const PJRT_Device **out_device) {
  if (id < 0 || id >= client->device_count)
    return HSC_ERR(INVALID_ARGUMENT, "no device with id %d; there are 0 to %d", id,
                   client->device_count - 1);
  *out_device = &client->devices[id];
  return NULL;
}

// ---- sending ------------------------------------------------------------------------------------

static hsc_status *fill_send(
    PJRT_Client *client, PJRT_Buffer *buffer, int to, PJRT_Transfers_Key key, transfer *t) {
  const PJRT_Device *device = NULL;
  if (!buffer || buffer->client != client)
    return HSC_ERR(INVALID_ARGUMENT, "an array to send is NULL, or of another client");
  HSC_TRY(other_device(client, to, &device));
  t->sent = hsc__event_create();
  if (!t->sent)
    return hsc_status_out_of_memory();
  t->bytes = buffer->size_bytes;
  t->type = buffer->type;
  t->rank = buffer->rank;
  t->layout = buffer->layout;
  t->process = device->description->process;
  t->message = name_of(key, buffer->device->index, to);
  memcpy(t->dims, buffer->dims, (size_t)buffer->rank * sizeof *t->dims);
  pthread_mutex_lock(&client->lock);
  t->block = buffer->block;
  if (t->block)
    t->block->references++;
  t->ready = buffer->ready ? hsc__event_retain(buffer->ready) : NULL;
  pthread_mutex_unlock(&client->lock);
  return t->block ? NULL : HSC_ERR(INVALID_ARGUMENT, "the buffer has been deleted or donated");
}

static PJRT_Error *send_buffers(PJRT_Transfers_PJRT_Client_CrossHostSendBuffers_Args *args) {
  HSC_CHECK_ARGS(PJRT_Transfers_PJRT_Client_CrossHostSendBuffers, send_events);
  if (!args->client || (args->num_buffers > 0 && (!args->buffers || !args->dst_global_device_ids ||
                                                  !args->transfer_keys || !args->send_events)))
    return hsc__error_of(HSC_ERR(INVALID_ARGUMENT, "CrossHostSendBuffers: an argument is NULL"));
  batch *b = create_batch(args->client, args->num_buffers, true);
  if (!b)
    return hsc__error_of(hsc_status_out_of_memory());
  hsc_status *status = NULL;
  for (size_t i = 0; i < b->count && !status; i++)
    status = fill_send(args->client, args->buffers[i], args->dst_global_device_ids[i],
                       args->transfer_keys[i], &b->all[i]);
  if (status) {
    destroy_batch(b);
    return hsc__error_of(status);
  }
  PJRT_Event **events = args->send_events;
  for (size_t i = 0; i < b->count; i++)
    events[i] = hsc__event_retain(b->all[i].sent);
  size_t count = b->count;
  status = start(b);
  for (size_t i = 0; i < count && status; i++) {
    hsc__event_release(events[i]);
    events[i] = NULL;
  }
  return hsc__error_of(status);
}

// ---- receiving ----------------------------------------------------------------------------------

static hsc_status *fill_receive(const PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers_Args *args,
                                size_t i,
                                transfer *t,
                                PJRT_Buffer **out_buffer) {
  PJRT_Client *client = args->client;
  const PJRT_Device *from = NULL;
  PJRT_Device *to = NULL;
  PJRT_Buffer *buffer = NULL;
  PJRT_Buffer_Type type = args->element_types[i];
  const int64_t *dims = args->num_dims[i];
  size_t rank = args->shape_num_dims[i];
  HSC_TRY(other_device(client, args->src_global_device_ids[i], &from));
  HSC_TRY(hsc__place(client, args->device, NULL, &to));
  HSC_TRY(hsc__array_bytes(type, dims, rank, &t->bytes));
  HSC_TRY(hsc__device_layout(args->layouts ? args->layouts[i] : NULL, dims, rank,
                             hsc_type_bytes(hsc__type_of_pjrt(type)), &t->layout));
  HSC_TRY(hsc__buffer_create_pending(client, to, type, dims, rank, &buffer));
  buffer->layout = t->layout;
  t->type = buffer->type;
  t->rank = buffer->rank;
  t->process = from->description->process;
  t->message = name_of(args->transfer_keys[i], from->index, to->index);
  if (rank > 0)
    memcpy(t->dims, dims, rank * sizeof *t->dims);
  pthread_mutex_lock(&client->lock);
  t->block = buffer->block;
  t->block->references++;
  t->ready = hsc__event_retain(buffer->ready);
  pthread_mutex_unlock(&client->lock);
  *out_buffer = buffer;
  return NULL;
}

static PJRT_Error *receive_buffers(PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers_Args *args) {
  HSC_CHECK_ARGS(PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers, buffers);
  size_t count = args->num_shapes;
  if (!args->client ||
      (count > 0 && (!args->shape_num_dims || !args->num_dims || !args->element_types ||
                     !args->src_global_device_ids || !args->transfer_keys || !args->buffers)))
    return hsc__error_of(HSC_ERR(INVALID_ARGUMENT, "CrossHostReceiveBuffers: an argument is NULL"));
  batch *b = create_batch(args->client, count, false);
  if (!b)
    return hsc__error_of(hsc_status_out_of_memory());
  hsc_status *status = NULL;
  size_t made = 0;
  while (made < count && !(status = fill_receive(args, made, &b->all[made], &args->buffers[made])))
    made++;
  if (status)
    destroy_batch(b);
  else
    status = start(b);
  for (size_t i = 0; i < made && status; i++) {
    hsc__buffer_free(args->buffers[i]);
    args->buffers[i] = NULL;
  }
  return hsc__error_of(status);
}

// ---- the older way ------------------------------------------------------------------------------

static const char not_this_way[] =
    "transfers by descriptors are not supported by the hloscope device: CrossHostSendBuffers and "
    "CrossHostReceiveBuffers are";

static PJRT_Error *make_receive_buffers(
    PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers_Args *args) {
  return hsc__error_of(HSC_ERR(UNIMPLEMENTED, "%s", not_this_way));
}

// The host may still be about to set the event: it and the descriptor go when it has.
typedef struct descriptor {
  PJRT_Event *event;
  char **text;
  size_t *size;
  void (*destroy)(char **text, size_t *size);
} descriptor;

static void drop_descriptor(PJRT_Error *error, void *user) {
  descriptor *d = user;
  PJRT_Error_Destroy_Args destroy = {.struct_size = PJRT_Error_Destroy_Args_STRUCT_SIZE,
                                     .error = error};
  if (error)
    hsc__PJRT_Error_Destroy(&destroy);
  if (d->destroy)
    d->destroy(d->text, d->size);
  hsc__event_release(d->event);
  hsc_free(d);
}

static void copy_to_remote(PJRT_Transfers_PJRT_Buffer_CopyToRemoteDevice_Args *args) {
  bool has_destructor =
      HSC_ARGS_HAVE(PJRT_Transfers_PJRT_Buffer_CopyToRemoteDevice, descriptor_destructor);
  descriptor *d = hsc_alloc(sizeof *d);
  if (args->on_done.on_done)
    args->on_done.on_done(hsc__error_of(HSC_ERR(UNIMPLEMENTED, "%s", not_this_way)), false,
                          args->on_done.user_arg);
  if (!d || !args->event) {
    hsc_free(d);
    return;
  }
  *d = (descriptor){args->event, args->serialized_descriptor, args->serialized_descriptor_size,
                    has_destructor ? args->descriptor_destructor : NULL};
  PJRT_Event_OnReady_Args when = {.struct_size = PJRT_Event_OnReady_Args_STRUCT_SIZE,
                                  .event = args->event,
                                  .callback = drop_descriptor,
                                  .user_arg = d};
  PJRT_Error *error = hsc__PJRT_Event_OnReady(&when);
  if (error)
    drop_descriptor(error, d);
}

PJRT_CrossHostTransfers_Extension hsc__cross_host_extension = {
    .base = {.struct_size = PJRT_CrossHostTransfers_Extension_STRUCT_SIZE,
             .type = PJRT_Extension_Type_CrossHostTransfers},
    .PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers = make_receive_buffers,
    .PJRT_Transfers_PJRT_Buffer_CopyToRemoteDevice = copy_to_remote,
    .PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers = receive_buffers,
    .PJRT_Transfers_PJRT_Client_CrossHostSendBuffers = send_buffers,
};
