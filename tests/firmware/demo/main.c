/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The station's main loop: command lines in, messages out, a timer that samples the heat. */
#include "station.h"
#include "gx.h"

#define ROUNDS 1000
#define ROUNDS_A_REPORT 250
#define TICK_US 1000

struct message {
    struct message *next;
    const char *text;
    int32_t value;
};

static struct message *first_message;
static struct message *last_message;
static struct station station;
static volatile uint32_t ticks;
static volatile int32_t temperature = 150; /* tenths of a degree */

static const char *const script[] = {
    "lamp 3 on",
    "heat 21",
    "sum 4 8 15 16 23",
    "lamp 17 on",
    "lamp 3 off",
    "dance",
    "heat -5",
    "lamp 99 on",
    "sum 1 2 x",
    "heat 19",
};

/* The timer interrupt. */

static int32_t approach(int32_t value, int32_t wanted)
{
    return value + (wanted > value) - (wanted < value);
}

void gx_timer_tick(void)
{
    ticks++;
    temperature = approach(temperature, station.heat * 10);
}

/* Messages wait in a list until the main loop has time. */

void message_post(const char *text, int32_t value)
{
    struct message *message = malloc(sizeof(*message));

    if (message == NULL) {
        panic("no memory for a message");
    }
    message->next = NULL;
    message->text = text;
    message->value = value;
    if (last_message == NULL) {
        first_message = message;
    } else {
        last_message->next = message;
    }
    last_message = message;
}

static uint32_t message_work(void)
{
    uint32_t checksum = 0;

    while (first_message != NULL) {
        struct message *message = first_message;

        first_message = message->next;
        if (first_message == NULL) {
            last_message = NULL;
        }
        for (const char *at = message->text; *at != '\0'; at++) {
            checksum = checksum * 31 + (uint8_t)*at;
        }
        checksum += (uint32_t)message->value;
        free(message);
    }
    return checksum;
}

static void report(uint32_t round, uint32_t checksum)
{
    gx_puts("round ");
    gx_put_unsigned(round);
    gx_puts(": lamps ");
    gx_put_hex(station.lamps);
    gx_puts(", ");
    gx_put_unsigned(station.commands);
    gx_puts(" commands, ");
    gx_put_unsigned(station.errors);
    gx_puts(" errors, messages ");
    gx_put_hex(checksum);
    gx_puts("\n");
}

void panic(const char *reason)
{
    gx_puts("panic: ");
    gx_puts(reason);
    gx_puts("\n");
    gx_exit(1);
}

int main(void)
{
    uint32_t checksum = 0;

    gx_puts("station: ready\n");
    board_timer_start(TICK_US);
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        for (size_t i = 0; i < sizeof(script) / sizeof(script[0]); i++) {
            command_run(&station, script[i]);
        }
        checksum = checksum * 33 + message_work();
        if (round % ROUNDS_A_REPORT == 0) {
            report(round, checksum);
        }
    }
    board_timer_stop();
    if (heap_in_use() != 0) {
        panic("memory is missing");
    }
    gx_puts("station: done\n");
    return 0;
}
