/*
 * What CONTEXT events tell the engine: that a trap came, and which stack goes on. docs/reconstruction.md, rules P.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "state.h"

#define IPSR              0x1ffu
#define EXC_RETURN_BIT0   1u        /* ES: the handler runs in secure state; in Armv7-M set as bit 6 is */
#define EXC_RETURN_PSP    (1u << 2) /* the frame lies on the process stack */
#define EXC_RETURN_THREAD (1u << 3) /* no handler was interrupted */
#define EXC_RETURN_SHORT  (1u << 4) /* the frame holds no floating-point registers */
#define EXC_RETURN_BIT6   (1u << 6) /* S */
#define FRAME             32        /* r0-r3, r12, lr, pc, xPSR */
#define FRAME_FLOAT       104       /* and s0-s15, FPSCR, a word for alignment */
#define SWITCH_FRAME_MAX  512       /* bytes between what a routine that switches saves and where it comes back */
#define M_ALIGNMENT       4         /* bytes that the core may have left out above a frame */
#define ACCESS_SLACK      64        /* bytes between accesses that perhaps tell the same stack pointer */

static bool has(const GxProbe *p, unsigned number) { return p->known >> number & 1; }

/* Registers of a number the engine does not need are left out. */
static uint64_t *place_of(GxProbe *p, uint64_t number)
{
    switch (number) {
    case GX_REG_PROBE:
        return &p->why;
    case GX_REG_SP:
        return &p->sp;
    case GX_REG_SAVED:
        return &p->saved;
    case GX_REG_RESTORED:
        return &p->restored;
    case GX_REG_LR:
        return &p->lr;
    case GX_REG_XPSR:
        return &p->xpsr;
    case GX_REG_MSP:
        return &p->msp;
    case GX_REG_PSP:
        return &p->psp;
    case GX_REG_CPSR:
        return &p->cpsr;
    case GX_REG_SPSR:
        return &p->spsr;
    case GX_REG_SP_EL0:
        return &p->sp_el0;
    case GX_REG_PRIV:
        return &p->priv;
    case GX_REG_MCAUSE:
        return &p->mcause;
    case GX_REG_SCAUSE:
        return &p->scause;
    default:
        return NULL;
    }
}

/* A routine that switches stacks, on its way. Rule P7. */
static void take_switch(GxEngine *e, const GxProbe *p)
{
    GxContext c = {.from = 0};

    if (!has(p, GX_REG_SP)) {
        return;
    }
    if (e->n_levels > (p->why & GX_PROBE_RETURN ? 1 : 0)) { /* in a handler; one that returns just now is still open */
        if ((p->why & GX_PROBE_SWITCHED) && !(p->why & (GX_PROBE_TRAP | GX_PROBE_VECTOR))) { /* S7 */
            e->new_sp = p->sp;
            e->has_new_sp = true;
        }
        return;
    }
    if (p->why & GX_PROBE_SWITCHED) {
        e->new_sp = p->sp;
        e->has_new_sp = true;
        if (p->why & (GX_PROBE_TRAP | GX_PROBE_VECTOR)) { /* a trap came at once */
            gx_probe_interrupted(p, true, &c);
            e->new_sp = c.sp;
            e->has_new_sp = c.has_sp;
        }
    }
    if ((p->why & GX_PROBE_SWITCH) && !(e->has_old_sp && e->has_new_sp && e->new_sp == p->sp)) {
        e->old_sp = p->sp; /* not that of a scheduler on its own stack in between */
        e->has_old_sp = true;
        e->has_new_sp = false;
    }
}

/* Stack-switching code told by its accesses. Rules P8 and P10. */
static void take_accesses(GxEngine *e, const GxProbe *p)
{
    GxLevel *top = e->n_levels ? &e->levels[e->n_levels - 1] : NULL;

    if (has(p, GX_REG_SAVED) && top && !top->has_restored && !top->interrupted.has_saved) {
        top->interrupted.saved = p->saved;
        top->interrupted.has_saved = true;
    } else if (has(p, GX_REG_SAVED) && !top) {
        e->old_sp = p->saved;
        e->has_old_sp = true;
        e->has_new_sp = false;
    }
    if (has(p, GX_REG_RESTORED) && top) {
        top->restored = p->restored;
        top->has_restored = true;
    } else if (has(p, GX_REG_RESTORED)) {
        e->new_sp = p->restored;
        e->has_new_sp = true;
    }
}

bool gx_probe_take(GxVcpu *v, const uint8_t *payload, const uint8_t *end)
{
    GxProbe p = {.before = v->n_blocks + 1};
    uint64_t n, number, value;
    const uint8_t *at = gx_leb_get(payload, end, &n);

    for (; at && n; n--) {
        uint64_t *place;

        if (!(at = gx_leb_get(at, end, &number)) || !(at = gx_leb_get(at, end, &value))) {
            break;
        }
        if ((place = place_of(&p, number))) {
            *place = value;
            p.known |= 1ull << number;
        }
    }
    if (!at) {
        return false;
    }
    v->probe = p;
    take_switch(&v->engine, &p);
    take_accesses(&v->engine, &p);
    if (!v->trap_event && v->prev && (p.why & GX_PROBE_VECTOR) && (!has(&p, GX_REG_XPSR) || gx_probe_begins_m(&p))) {
        v->trap_event = GX_TRAP_EVENT_PROBE;
    }
    return true;
}

const GxProbe *gx_probe(const GxVcpu *v) { return gx_probe_pending(v) ? &v->probe : NULL; }

bool gx_probe_exception(const GxProbe *p, uint32_t *number)
{
    if (!p || !has(p, GX_REG_XPSR)) {
        return false;
    }
    *number = (uint32_t)p->xpsr & IPSR;
    return true;
}

bool gx_probe_begins_m(const GxProbe *p)
{
    return p && has(p, GX_REG_XPSR) && has(p, GX_REG_LR) && (p->xpsr & IPSR) && p->lr >= GX_EXC_RETURN;
}

bool gx_probe_denies(const GxProbe *p)
{
    return p && (p->why & GX_PROBE_VECTOR) && has(p, GX_REG_XPSR) && !gx_probe_begins_m(p);
}

bool gx_probe_from_thread(const GxProbe *p) { return gx_probe_begins_m(p) && (p->lr & EXC_RETURN_THREAD); }

/* A handler begins directly after another one whose begin was not recorded (a filter, P2). */
bool gx_probe_chains_unseen(const GxReplay *r, const GxVcpu *v)
{
    return !v->trap_event && v->prev && !v->cut && !v->engine.n_levels && (v->probe.why & GX_PROBE_RETURN) &&
           (r->blocks.flags[v->prev] & GX_FLAG_MAY_EXC_RETURN) && gx_probe_begins_m(&v->probe);
}

/* The trap that seems to begin at block `id`: is it none, since the program goes there by itself? */
bool gx_probe_is_entry(const GxReplay *r, const GxVcpu *v, uint32_t id)
{
    const GxEngine *e = &v->engine;
    const GxLevel *top = e->n_levels ? &e->levels[e->n_levels - 1] : NULL;
    uint32_t exception;

    if (!v->cut && !gx_is_indirect(&r->blocks, v->prev) && gx_may_follow(&r->blocks, v->prev, r->blocks.address[id])) {
        return false;
    }
    return !(top && top->probed && gx_probe_exception(&v->probe, &exception) && exception == top->exception);
}

unsigned gx_probe_kind(const GxProbe *p)
{
    uint32_t exception;
    uint64_t cause;

    if (!p || !(p->why & (GX_PROBE_TRAP | GX_PROBE_VECTOR | GX_PROBE_RETURN))) {
        return 0;
    }
    if (gx_probe_exception(p, &exception)) { /* Armv7-M B1.5.2: faults, SVCall, DebugMonitor */
        return (exception >= 3 && exception <= 7) || exception == 11 || exception == 12 ? GX_NODE_EXCEPTION
                                                                                        : GX_NODE_INTERRUPT;
    }
    if (has(p, GX_REG_PRIV) && has(p, GX_REG_MCAUSE)) { /* its highest bit, of 32 or 64 */
        cause = p->priv == 1 && has(p, GX_REG_SCAUSE) ? p->scause : p->mcause;
        return cause >> 31 ? GX_NODE_INTERRUPT : GX_NODE_EXCEPTION;
    }
    return 0;
}

/* --- stack pointers -------------------------------------------------------------------------------------------------- */

static void set_sp(GxContext *c, uint64_t sp, uint32_t slack)
{
    c->sp = sp;
    c->sp_slack = slack;
    c->has_sp = true;
}

void gx_probe_interrupted(const GxProbe *p, bool outermost, GxContext *c)
{
    c->has_sp = false;
    if (!p || (outermost && gx_probe_begins_m(p) && !gx_probe_from_thread(p))) {
        return; /* it interrupted a handler that had not begun */
    }
    if (gx_probe_begins_m(p)) {
        const unsigned stack = p->lr & EXC_RETURN_PSP ? GX_REG_PSP : GX_REG_MSP;
        const bool same_state = !(p->lr & EXC_RETURN_BIT0) == !(p->lr & EXC_RETURN_BIT6);

        if (same_state && has(p, stack)) { /* else on a stack of the other security state */
            set_sp(c, (stack == GX_REG_PSP ? p->psp : p->msp) + (p->lr & EXC_RETURN_SHORT ? FRAME : FRAME_FLOAT),
                   M_ALIGNMENT);
        }
    } else if (has(p, GX_REG_CPSR) && has(p, GX_REG_SPSR)) { /* AArch64 at EL1; bit 0: the level's own stack pointer */
        if ((p->cpsr & 0x1c) == 0x04) {
            if (!(p->spsr & 1) && has(p, GX_REG_SP_EL0)) {
                set_sp(c, p->sp_el0, 0);
            } else if ((p->spsr & 0x1f) == 0x05 && has(p, GX_REG_SP)) {
                set_sp(c, p->sp, 0);
            }
        }
    } else if (has(p, GX_REG_PRIV) && has(p, GX_REG_SP)) { /* RISC-V: a trap leaves it alone */
        set_sp(c, p->sp, 0);
    }
}

uint64_t gx_switch_distance(const GxEngine *e, const GxContext *place)
{
    const uint64_t old = place ? place->sp : e->old_sp;
    const uint64_t distance = e->new_sp > old ? e->new_sp - old : old - e->new_sp;
    const bool known = e->has_new_sp && (place ? place->has_sp : e->has_old_sp);

    return known && distance <= SWITCH_FRAME_MAX ? distance : UINT64_MAX;
}

void gx_switch_place(GxEngine *e, GxContext *place)
{
    if (!place->from && e->has_old_sp) {
        set_sp(place, e->old_sp, 0);
    }
    e->has_old_sp = e->has_new_sp = false;
}

const GxProbe *gx_probe_leaving(const GxVcpu *v, const GxLevel *level, GxProbe *room)
{
    const GxProbe *now = gx_probe(v);

    if (now && has(now, GX_REG_SP)) { /* P10 */
        return now;
    }
    *room = now ? *now : (GxProbe){.before = 0};
    room->known &= ~(1ull << GX_REG_RESTORED);
    room->leaving = level->has_restored || !v->engine.restores_unseen;
    if (level->has_restored) {
        room->restored = level->restored;
        room->known |= 1ull << GX_REG_RESTORED;
    }
    return room;
}

GxContext gx_probe_below(const GxLevel *level)
{
    GxContext c = level->interrupted;

    c.has_saved = c.has_saved && level->has_restored;
    return c;
}

bool gx_probe_stack(const GxProbe *p, uint64_t *sp)
{
    *sp = p ? p->sp : 0;
    return p && has(p, GX_REG_SP);
}

GxSpFit gx_probe_sp(const GxProbe *p, const GxContext *c)
{
    if (p && has(p, GX_REG_SP) && c->has_sp) {
        return p->sp - c->sp <= c->sp_slack ? GX_SP_SAME : GX_SP_OTHER;
    }
    if (!p || !p->leaving || !c->has_saved) { /* P8 */
        return GX_SP_UNKNOWN;
    }
    if (!has(p, GX_REG_RESTORED)) {
        return GX_SP_OTHER;
    }
    if (p->restored == c->saved) {
        return GX_SP_SAME;
    }
    return p->restored - c->saved + ACCESS_SLACK <= 2 * ACCESS_SLACK ? GX_SP_UNKNOWN : GX_SP_OTHER;
}
