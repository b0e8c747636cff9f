/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of text become words, the first word chooses a function from a table. */
#include "station.h"

#define MAX_WORDS 6

struct words {
    char *text; /* copy of the line, ended by zeros where the blanks were */
    int count;
    char *word[MAX_WORDS];
};

static size_t length(const char *text)
{
    size_t n = 0;

    while (text[n] != '\0') {
        n++;
    }
    return n;
}

static int equal(const char *left, const char *right)
{
    while (*left != '\0' && *left == *right) {
        left++;
        right++;
    }
    return *left == *right;
}

static char *copy_text(const char *text)
{
    size_t size_bytes = length(text) + 1;
    char *copy = malloc(size_bytes);

    if (copy != NULL) {
        for (size_t i = 0; i < size_bytes; i++) {
            copy[i] = text[i];
        }
    }
    return copy;
}

static struct words *words_new(const char *line)
{
    struct words *words = malloc(sizeof(*words));
    char *at;

    if (words == NULL) {
        return NULL;
    }
    words->count = 0;
    words->text = copy_text(line);
    if (words->text == NULL) {
        free(words);
        return NULL;
    }
    at = words->text;
    while (*at != '\0' && words->count < MAX_WORDS) {
        while (*at == ' ') {
            *at++ = '\0';
        }
        if (*at != '\0') {
            words->word[words->count++] = at;
        }
        while (*at != ' ' && *at != '\0') {
            at++;
        }
    }
    return words;
}

static void words_free(struct words *words)
{
    free(words->text);
    free(words);
}

static int parse_number(const char *text, int32_t *value)
{
    int negative = *text == '-';

    *value = 0;
    if (negative) {
        text++;
    }
    if (*text == '\0') {
        return 0;
    }
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9') {
            return 0;
        }
        *value = *value * 10 + (*text - '0');
    }
    if (negative) {
        *value = -*value;
    }
    return 1;
}

/* The commands: each returns 0, or -1 if its words are wrong. */

static int command_lamp(struct station *station, const struct words *words)
{
    int32_t lamp;

    if (words->count != 3 || !parse_number(words->word[1], &lamp) || lamp < 0 || lamp > 31) {
        return -1;
    }
    if (equal(words->word[2], "on")) {
        station->lamps |= 1u << lamp;
    } else if (equal(words->word[2], "off")) {
        station->lamps &= ~(1u << lamp);
    } else {
        return -1;
    }
    message_post("lamp", lamp);
    return 0;
}

static int command_heat(struct station *station, const struct words *words)
{
    int32_t heat;

    if (words->count != 2 || !parse_number(words->word[1], &heat)) {
        return -1;
    }
    station->heat = heat;
    message_post("heat", heat);
    return 0;
}

static int command_sum(struct station *station, const struct words *words)
{
    int32_t sum = 0;

    (void)station;
    for (int i = 1; i < words->count; i++) {
        int32_t value;

        if (!parse_number(words->word[i], &value)) {
            return -1;
        }
        sum += value;
    }
    message_post("sum", sum);
    return 0;
}

static int command_reset(struct station *station, const struct words *words)
{
    (void)words;
    station->lamps = 0;
    station->heat = 0;
    message_post("reset", 0);
    return 0;
}

static const struct {
    const char *name;
    int (*run)(struct station *station, const struct words *words);
} commands[] = {
    { "lamp", command_lamp },
    { "heat", command_heat },
    { "sum", command_sum },
    { "reset", command_reset },
};

int command_run(struct station *station, const char *line)
{
    struct words *words = words_new(line);
    int status = -1;

    if (words == NULL) {
        panic("no memory for a command");
    }
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (words->count > 0 && equal(words->word[0], commands[i].name)) {
            status = commands[i].run(station, words);
            break;
        }
    }
    words_free(words);
    if (status == 0) {
        station->commands++;
    } else {
        station->errors++;
    }
    return status;
}
