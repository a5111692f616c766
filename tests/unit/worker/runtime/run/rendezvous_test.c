#include "shared/base/atomic.h"
#include "tests/support/cmocka_all.h"

#include <pthread.h>

#include "tests/support/fail_alloc.h"
#include "worker/runtime/run/rendezvous.h"

typedef struct Receiver {
    RendezvousWaiter waiter;
    RendezvousMessage message;
    int calls; /* atomic */
} Receiver;

static void
receive_done(RendezvousWaiter *waiter, RendezvousMessage *message)
{
    Receiver *receiver = (Receiver *)(void *)waiter;
    receiver->message = *message;
    message->tensor = (Tensor){0};
    atomic_add_acq_rel(&receiver->calls, 1);
}

static const Slice LOCAL = {"/slot:1/device:CPU:0;/slot:0/device:CPU:0;edge_1_x;0:0", 54};

static Tensor
number(int32_t value)
{
    Tensor tensor = {0};
    Shape shape = shape_scalar();
    assert_true(tensor_new(DTYPE_INT32, &shape, &tensor));
    memcpy(tensor.data, &value, sizeof value);
    return tensor;
}

static int32_t
value_of(const Tensor *tensor)
{
    int64_t value = 0;
    assert_true(tensor_to_int64(tensor, 0, &value));
    return (int32_t)value;
}

static void
send_one_and_two(Call *call, Rendezvous *rendezvous)
{
    for (int32_t i = 1; i <= 2; i++) {
        Tensor tensor = number(i);
        assert_status(call, STATUS_OK, rendezvous_send(call, rendezvous, LOCAL, &tensor, false));
        assert_null(tensor.buffer);
    }
}

static void
receive_one_and_two(Rendezvous *rendezvous)
{
    for (int32_t i = 1; i <= 2; i++) {
        Receiver receiver = {.waiter.done = receive_done};
        RendezvousMessage message = {0};
        assert_true(rendezvous_receive(rendezvous, LOCAL, &receiver.waiter, &message));
        assert_int_equal(message.code, STATUS_OK);
        assert_int_equal(value_of(&message.tensor), i);
        assert_int_equal(receiver.calls, 0);
        tensor_unref(&message.tensor);
    }
}

static void
a_value_sent_first_is_received_at_once(void **state)
{
    (void)state;
    Call call = {0};
    Rendezvous *rendezvous = rendezvous_new(0, NULL);
    send_one_and_two(&call, rendezvous);
    assert_int_equal(rendezvous_parked_bytes(rendezvous), 8);
    receive_one_and_two(rendezvous);
    assert_int_equal(rendezvous_parked_bytes(rendezvous), 0);
    rendezvous_unref(rendezvous);
}

static void
a_waiter_gets_the_value_when_it_comes(void **state)
{
    (void)state;
    Call call = {0};
    Rendezvous *rendezvous = rendezvous_new(0, NULL);
    Receiver receivers[2] = {{.waiter.done = receive_done}, {.waiter.done = receive_done}};
    RendezvousMessage message = {0};
    assert_false(rendezvous_receive(rendezvous, LOCAL, &receivers[0].waiter, &message));
    assert_false(rendezvous_receive(rendezvous, LOCAL, &receivers[1].waiter, &message));
    Tensor tensor = number(7);
    assert_status(&call, STATUS_OK, rendezvous_send(&call, rendezvous, LOCAL, &tensor, false));
    assert_int_equal(receivers[0].calls, 1);
    assert_int_equal(receivers[1].calls, 0);
    assert_int_equal(value_of(&receivers[0].message.tensor), 7);
    assert_status(&call, STATUS_OK, rendezvous_send(&call, rendezvous, LOCAL, NULL, true));
    assert_true(receivers[1].message.is_dead);
    tensor_unref(&receivers[0].message.tensor);
    rendezvous_unref(rendezvous);
}

static void
many_keys_are_kept_apart(void **state)
{
    (void)state;
    enum { COUNT = 500 };
    Call call = {0};
    Rendezvous *rendezvous = rendezvous_new(0, NULL);
    static char keys[COUNT][64];
    for (int i = 0; i < COUNT; i++) {
        snprintf(keys[i], sizeof keys[i], "a;/slot:0/device:CPU:0;edge_%d_x;0:0", i);
        Tensor tensor = number(i);
        assert_status(
            &call, STATUS_OK, rendezvous_send(&call, rendezvous, slice_from_string(keys[i]), &tensor, false));
    }
    for (int i = COUNT - 1; i >= 0; i--) {
        RendezvousWaiter waiter = {.done = receive_done};
        RendezvousMessage message = {0};
        assert_true(rendezvous_receive(rendezvous, slice_from_string(keys[i]), &waiter, &message));
        assert_int_equal(value_of(&message.tensor), i);
        tensor_unref(&message.tensor);
    }
    rendezvous_unref(rendezvous);
}

static void
abort_answers_waiters_drops_values_and_lasts(void **state)
{
    (void)state;
    Call call = {0};
    Rendezvous *rendezvous = rendezvous_new(0, NULL);
    Receiver receiver = {.waiter.done = receive_done};
    RendezvousMessage message = {0};
    Tensor tensor = number(7);
    assert_false(rendezvous_receive(rendezvous, LOCAL, &receiver.waiter, &message));
    assert_status(&call, STATUS_OK, rendezvous_send(&call, rendezvous, SLICE("a;b;c;0:0"), &tensor, false));
    rendezvous_abort(rendezvous, STATUS_ABORTED, "a sibling failed");
    rendezvous_abort(rendezvous, STATUS_INTERNAL, "later");
    assert_int_equal(receiver.calls, 1);
    assert_int_equal(receiver.message.code, STATUS_ABORTED);
    assert_string_equal(receiver.message.error, "a sibling failed");
    assert_int_equal(rendezvous_parked_bytes(rendezvous), 0);

    tensor = number(8);
    assert_status(&call, STATUS_ABORTED, rendezvous_send(&call, rendezvous, LOCAL, &tensor, false));
    assert_string_equal(call.error.message, "a sibling failed");
    assert_non_null(tensor.buffer);
    tensor_unref(&tensor);
    assert_true(rendezvous_receive(rendezvous, LOCAL, &receiver.waiter, &message));
    assert_int_equal(message.code, STATUS_ABORTED);
    rendezvous_unref(rendezvous);
}

static void
a_forgotten_waiter_gets_nothing(void **state)
{
    (void)state;
    Call call = {0};
    Rendezvous *rendezvous = rendezvous_new(0, NULL);
    Receiver receiver = {.waiter.done = receive_done};
    RendezvousMessage message = {0};
    assert_false(rendezvous_receive(rendezvous, LOCAL, &receiver.waiter, &message));
    assert_true(rendezvous_forget(rendezvous, &receiver.waiter));
    assert_false(rendezvous_forget(rendezvous, &receiver.waiter));
    Tensor tensor = number(7);
    assert_status(&call, STATUS_OK, rendezvous_send(&call, rendezvous, LOCAL, &tensor, false));
    assert_int_equal(receiver.calls, 0);
    rendezvous_unref(rendezvous);
}

typedef struct Peer {
    Rendezvous *rendezvous; /* of the other slot */
    int sends;
    int pulls;
    char pulled[64];
} Peer;

static Status
peer_send(void *context, Call *call, Slice key, Tensor *tensor, bool is_dead)
{
    Peer *peer = context;
    peer->sends++;
    return rendezvous_deliver(call, peer->rendezvous, key, tensor, is_dead);
}

static void
peer_pull(void *context, Slice key)
{
    Peer *peer = context;
    peer->pulls++;
    snprintf(peer->pulled, sizeof peer->pulled, "%.*s", SLICE_PRINT(key));
}

static void
other_slots_are_reached_through_the_hook(void **state)
{
    (void)state;
    Call call = {0};
    Peer peer = {.rendezvous = rendezvous_new(0, NULL)};
    RendezvousRemote remote = {.context = &peer, .send = peer_send};
    Rendezvous *sender = rendezvous_new(1, &remote);
    Tensor tensor = number(7);
    assert_status(&call, STATUS_OK, rendezvous_send(&call, sender, LOCAL, &tensor, false));
    assert_int_equal(peer.sends, 1);
    RendezvousWaiter waiter = {.done = receive_done};
    RendezvousMessage message = {0};
    assert_true(rendezvous_receive(peer.rendezvous, LOCAL, &waiter, &message));
    assert_int_equal(value_of(&message.tensor), 7);

    assert_status(&call, STATUS_UNIMPLEMENTED,
        rendezvous_send(
            &call, peer.rendezvous, SLICE("a;/slot:3/device:CPU:0;x;0:0"), &message.tensor, false));
    assert_string_equal(call.error.message, "slot 0 has no way to slot 3 for 'a;/slot:3/device:CPU:0;x;0:0'");
    tensor_unref(&message.tensor);
    rendezvous_unref(sender);
    rendezvous_unref(peer.rendezvous);
}

static void
announcements_have_a_bound(void **state)
{
    (void)state;
    char key[64];
    AUTO_ARENA arena = arena_new(64 * 1024);
    Call call = {.arena = arena};
    Peer peer = {0};
    RendezvousRemote remote = {.context = &peer, .pull = peer_pull};
    Rendezvous *rendezvous = rendezvous_new(0, &remote);
    for (int index = 0; index < RENDEZVOUS_ITEMS_MAX; index++) {
        int size = snprintf(key, sizeof key, "a;b;c;%d:0", index);
        assert_status(&call, STATUS_OK, rendezvous_announce(&call, rendezvous, slice_of(key, (size_t)size)));
    }
    assert_int_equal(rendezvous_announce(&call, rendezvous, SLICE("a;b;c;-1:0")), STATUS_RESOURCE_EXHAUSTED);
    assert_string_equal(call.error.message, "slot 0 has 131072 tensors parked or announced already");
    rendezvous_unref(rendezvous);
}

static void
an_announced_value_is_pulled_when_wanted(void **state)
{
    (void)state;
    Call call = {0};
    Peer peer = {0};
    RendezvousRemote remote = {.context = &peer, .pull = peer_pull};
    Rendezvous *rendezvous = rendezvous_new(0, &remote);
    Receiver early = {.waiter.done = receive_done};
    Receiver late = {.waiter.done = receive_done};
    RendezvousMessage message = {0};

    assert_status(&call, STATUS_OK, rendezvous_announce(&call, rendezvous, SLICE("a;b;c;0:0")));
    assert_int_equal(peer.pulls, 0);
    assert_false(rendezvous_receive(rendezvous, SLICE("a;b;c;0:0"), &late.waiter, &message));
    assert_int_equal(peer.pulls, 1);
    assert_string_equal(peer.pulled, "a;b;c;0:0");

    assert_false(rendezvous_receive(rendezvous, LOCAL, &early.waiter, &message));
    assert_status(&call, STATUS_OK, rendezvous_announce(&call, rendezvous, LOCAL));
    assert_int_equal(peer.pulls, 2);
    Tensor tensor = number(7);
    assert_status(&call, STATUS_OK, rendezvous_deliver(&call, rendezvous, LOCAL, &tensor, false));
    assert_int_equal(early.calls, 1);
    assert_int_equal(late.calls, 0);
    tensor_unref(&early.message.tensor);
    rendezvous_abort(rendezvous, STATUS_CANCELLED, "enough");
    assert_int_equal(late.message.code, STATUS_CANCELLED);
    rendezvous_unref(rendezvous);
}

static void
a_value_that_is_given_back_is_the_next_of_its_key(void **state)
{
    (void)state;
    Call call = {0};
    Rendezvous *rendezvous = rendezvous_new(0, NULL);
    Receiver receiver = {.waiter.done = receive_done};
    RendezvousMessage message = {0};
    send_one_and_two(&call, rendezvous);
    assert_true(rendezvous_receive(rendezvous, LOCAL, &receiver.waiter, &message));
    assert_int_equal(rendezvous_parked_bytes(rendezvous), 4);
    assert_status(&call, STATUS_OK, rendezvous_give_back(&call, rendezvous, LOCAL, &message.tensor, false));
    assert_null(message.tensor.buffer);
    assert_int_equal(rendezvous_parked_bytes(rendezvous), 8);
    receive_one_and_two(rendezvous);
    assert_int_equal(rendezvous_parked_bytes(rendezvous), 0);
    rendezvous_unref(rendezvous);
}

static void
a_value_that_is_given_back_goes_to_who_waits_and_to_no_step_that_has_ended(void **state)
{
    (void)state;
    Call call = {0};
    Rendezvous *rendezvous = rendezvous_new(0, NULL);
    Receiver receiver = {.waiter.done = receive_done};
    RendezvousMessage message = {0};
    assert_false(rendezvous_receive(rendezvous, LOCAL, &receiver.waiter, &message));
    Tensor tensor = number(7);
    assert_status(&call, STATUS_OK, rendezvous_give_back(&call, rendezvous, LOCAL, &tensor, false));
    assert_int_equal(receiver.calls, 1);
    assert_int_equal(value_of(&receiver.message.tensor), 7);
    rendezvous_abort(rendezvous, STATUS_CANCELLED, "enough");
    assert_status(&call, STATUS_CANCELLED,
        rendezvous_give_back(&call, rendezvous, LOCAL, &receiver.message.tensor, false));
    assert_int_equal(value_of(&receiver.message.tensor), 7);
    assert_int_equal(rendezvous_parked_bytes(rendezvous), 0);
    tensor_unref(&receiver.message.tensor);
    rendezvous_unref(rendezvous);
}

static void
each_failing_allocation_is_told_and_loses_nothing(void **state)
{
    (void)state;
    Call call = {0};
    fail_alloc_count = 0;
    fail_alloc_at = 1;
    assert_null(rendezvous_new(0, NULL));
    fail_alloc_at = 0;
    Rendezvous *rendezvous = rendezvous_new(0, NULL);
    Tensor tensor = number(7);
    fail_alloc_count = 0;
    fail_alloc_at = 1;
    assert_status(
        &call, STATUS_RESOURCE_EXHAUSTED, rendezvous_send(&call, rendezvous, LOCAL, &tensor, false));
    fail_alloc_at = 0;
    assert_int_equal(value_of(&tensor), 7);
    tensor_unref(&tensor);
    rendezvous_unref(rendezvous);
}

enum { RACE_KEYS = 200 };

static void *
send_all(void *argument)
{
    Rendezvous *rendezvous = argument;
    for (int i = 0; i < RACE_KEYS; i++) {
        Call call = {0};
        char key[32];
        snprintf(key, sizeof key, "a;b;%d;0:0", i);
        Tensor tensor = number(i);
        assert_int_equal(rendezvous_send(&call, rendezvous, slice_from_string(key), &tensor, false), 0);
    }
    return NULL;
}

static void
senders_and_receivers_race_without_loss(void **state)
{
    (void)state;
    static Receiver receivers[RACE_KEYS];
    static char keys[RACE_KEYS][32];
    Rendezvous *rendezvous = rendezvous_new(0, NULL);
    pthread_t thread;
    pthread_create(&thread, NULL, send_all, rendezvous);
    for (int i = 0; i < RACE_KEYS; i++) {
        snprintf(keys[i], sizeof keys[i], "a;b;%d;0:0", i);
        receivers[i].waiter.done = receive_done;
        RendezvousMessage message = {0};
        if (rendezvous_receive(rendezvous, slice_from_string(keys[i]), &receivers[i].waiter, &message)) {
            receive_done(&receivers[i].waiter, &message);
        }
    }
    pthread_join(thread, NULL);
    for (int i = 0; i < RACE_KEYS; i++) {
        assert_int_equal(receivers[i].calls, 1);
        assert_int_equal(value_of(&receivers[i].message.tensor), i);
        tensor_unref(&receivers[i].message.tensor);
    }
    rendezvous_unref(rendezvous);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_sent_first_is_received_at_once),
        cmocka_unit_test(a_waiter_gets_the_value_when_it_comes),
        cmocka_unit_test(many_keys_are_kept_apart),
        cmocka_unit_test(abort_answers_waiters_drops_values_and_lasts),
        cmocka_unit_test(a_forgotten_waiter_gets_nothing),
        cmocka_unit_test(other_slots_are_reached_through_the_hook),
        cmocka_unit_test(announcements_have_a_bound),
        cmocka_unit_test(an_announced_value_is_pulled_when_wanted),
        cmocka_unit_test(a_value_that_is_given_back_is_the_next_of_its_key),
        cmocka_unit_test(a_value_that_is_given_back_goes_to_who_waits_and_to_no_step_that_has_ended),
        cmocka_unit_test(each_failing_allocation_is_told_and_loses_nothing),
        cmocka_unit_test(senders_and_receivers_race_without_loss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
