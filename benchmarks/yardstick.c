/* The yardstick: the rules of That's Life! and a loop of random games in plain C, as fast as we honestly can.
 *
 * It plays the games that the batch engine of thatslife_env plays: the same deals and dice from the same seeds, the same
 * random choices from the same keys, so both must come to the same sum of final points. Built by benchmarks/run.py:
 *
 *     gcc -O3 -march=native -shared -fPIC yardstick.c -o yardstick.so
 */

#include <stdint.h>
#include <string.h>

enum { PLAYERS = 6, PAWNS = 3, GUARDS = 8, TILES = 32, TRACK = 38, VALUES = 19 };
enum { MIN_VALUE = -10, LUCKY = 0, GIFT = 11, STEAL = 12, START = 13, FINISH = 14, NO_TILE = 15 };
enum { ROLL, MOVE, GIVE, STEALING, OVER };
enum { FIRST_GUARD = 3, FIRST_OPPONENT = 11 };
enum { NOWHERE = -1 };

typedef struct {
    int8_t players, pawns_each, with_guards, scoring, shuffled, length;
    int8_t layout[36];
} Rules;

typedef struct {
    int8_t pawns[32]; /* [seat * 3 + pawn], rear first; NOWHERE pads to a full vector */
    int8_t track[64];
    int8_t guards[8];
    int8_t towers[PLAYERS][TILES];
    int8_t counts[PLAYERS][VALUES + 1];
    int8_t heights[8];
    int8_t finish, players, pawns_each, n_guards, scoring, phase, player, die;
    uint64_t deal;
    int64_t rolls, decisions;
} Game;

/* deals and dice ----------------------------------------------------------------------- */

static inline uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static inline uint64_t draw64(uint64_t seed, uint64_t k) {
    return mix(seed + (k + 1) * 0x9E3779B97F4A7C15u);
}

static inline uint64_t draw(uint64_t seed, uint64_t k, uint64_t n) {
    return ((draw64(seed, k) >> 32) * n) >> 32;
}

static void deal(Game *g, const Rules *r, uint64_t seed) {
    memset(g->pawns, NOWHERE, sizeof g->pawns);
    memset(g->track, NO_TILE, sizeof g->track);
    memset(g->guards, NOWHERE, sizeof g->guards);
    memset(g->towers, NO_TILE, sizeof g->towers);
    memset(g->counts, 0, sizeof g->counts);
    memset(g->heights, 0, sizeof g->heights);
    g->players = r->players;
    g->pawns_each = r->pawns_each;
    g->scoring = r->scoring;
    g->phase = ROLL;
    g->player = g->die = 0;
    g->deal = seed;
    g->rolls = g->decisions = 0;
    int8_t *track = g->track;
    track[0] = START;
    memcpy(track + 1, r->layout, r->length);
    track[r->length + 1] = FINISH;
    g->finish = r->length + 1;
    if (r->shuffled) {
        int gifts = r->length > TILES;
        for (int i = TILES - 1; i > 0; i--) {
            int j = (int)draw(seed, TILES - 1 - i, i + 1), a = i, b = j;
            if (gifts) a += a / 8, b += b / 8;
            int8_t held = track[a + 1];
            track[a + 1] = track[b + 1];
            track[b + 1] = held;
        }
    }
    for (int seat = 0; seat < r->players; seat++)
        for (int pawn = 0; pawn < r->pawns_each; pawn++) g->pawns[seat * PAWNS + pawn] = 0;
    g->n_guards = 0;
    if (r->with_guards)
        for (int slot = 1; slot <= r->length && g->n_guards < GUARDS; slot++)
            if (track[slot] == LUCKY || track[slot] == 7 || track[slot] == 8)
                g->guards[g->n_guards++] = slot;
}

/* the rules -------------------------------------------------------------------------------- */

static inline int pawn_on(const Game *g, int slot) {
    int found = 0;
    for (int i = 0; i < 32; i++) found |= g->pawns[i] == slot;
    return found;
}

static inline int guard_on(const Game *g, int slot) {
    int found = 0;
    for (int i = 0; i < GUARDS; i++) found |= g->guards[i] == slot;
    return found;
}

static inline int top_rank(const Game *g, int seat) {
    int height = g->heights[seat];
    return height ? g->towers[seat][height - 1] : 0;
}

static inline void push(Game *g, int seat, int tile) {
    g->towers[seat][g->heights[seat]++] = tile;
    g->counts[seat][tile - MIN_VALUE]++;
}

static inline int pop(Game *g, int seat) {
    int tile = g->towers[seat][--g->heights[seat]];
    g->towers[seat][g->heights[seat]] = NO_TILE;
    g->counts[seat][tile - MIN_VALUE]--;
    return tile;
}

static inline int seat_after(const Game *g, int seat, int steps) {
    seat += steps;
    return seat >= g->players ? seat - g->players : seat;
}

static unsigned receivers(const Game *g) {
    int seat = g->player;
    if (!g->heights[seat]) return 0;
    int sign = top_rank(g, seat) >= 0 ? -1 : 1, best = -99;
    unsigned bits = 0;
    for (int steps = 1; steps < g->players; steps++) {
        int rank = sign * top_rank(g, seat_after(g, seat, steps));
        if (rank > best) best = rank, bits = 0;
        if (rank == best) bits |= 1u << (FIRST_OPPONENT + steps - 1);
    }
    return bits;
}

static unsigned victims(const Game *g) {
    unsigned bits = 0;
    for (int steps = 1; steps < g->players; steps++)
        if (g->heights[seat_after(g, g->player, steps)]) bits |= 1u << (FIRST_OPPONENT + steps - 1);
    return bits;
}

static inline unsigned legal(const Game *g) {
    if (g->phase == GIVE) return receivers(g);
    if (g->phase == STEALING) return victims(g);
    unsigned bits = 0;
    int before = NOWHERE;
    const int8_t *pawns = g->pawns + g->player * PAWNS;
    for (int pawn = 0; pawn < g->pawns_each; pawn++) {
        int slot = pawns[pawn];
        if (slot != before && slot != g->finish) bits |= 1u << pawn;
        before = slot;
    }
    if (!g->n_guards) return bits;
    uint64_t left = 0;
    for (int i = 0; i < g->players * PAWNS; i++) left |= 1ull << (g->pawns[i] & 63);
    left &= ~(1ull << g->finish);
    before = NOWHERE;
    for (int guard = 0; guard < g->n_guards; guard++) {
        int slot = g->guards[guard];
        bits |= (unsigned)(left >> slot & (slot != before)) << (FIRST_GUARD + guard);
        before = slot;
    }
    return bits;
}

static inline void hand_over(Game *g, int action) {
    int other = seat_after(g, g->player, action - FIRST_OPPONENT + 1);
    if (g->phase == GIVE)
        push(g, other, pop(g, g->player));
    else
        push(g, g->player, pop(g, other));
}

static inline void advance(int8_t *pieces, int piece, int n, int slot) {
    for (; piece + 1 < n && pieces[piece + 1] < slot; piece++) pieces[piece] = pieces[piece + 1];
    pieces[piece] = slot;
}

static void end_turn(Game *g) {
    g->die = 0;
    for (int steps = 1; steps <= g->players; steps++) {
        int seat = seat_after(g, g->player, steps);
        if (g->pawns[seat * PAWNS] != g->finish) {
            g->player = seat;
            g->phase = ROLL;
            return;
        }
    }
    g->phase = OVER;
}

static inline void play(Game *g, int action) {
    if (g->phase != MOVE) {
        hand_over(g, action);
    } else if (action < FIRST_GUARD) {
        int8_t *pawns = g->pawns + g->player * PAWNS;
        int slot = pawns[action], to = slot + g->die;
        if (to > g->finish) to = g->finish;
        advance(pawns, action, g->pawns_each, to);
        if (slot && !pawn_on(g, slot) && !guard_on(g, slot)) {
            int tile = g->track[slot];
            if (tile == GIFT || tile == STEAL) {
                g->track[slot] = tile == GIFT ? STEAL : GIFT;
                g->phase = tile == GIFT ? GIVE : STEALING;
                unsigned choices = tile == GIFT ? receivers(g) : victims(g);
                if (choices & (choices - 1)) return;
                if (choices) hand_over(g, __builtin_ctz(choices));
            } else {
                push(g, g->player, tile);
                for (int8_t k = 0; k < 48; k++) g->track[k] = k >= slot ? g->track[k + 1] : g->track[k];
                g->finish--;
                for (int i = 0; i < 32; i++) g->pawns[i] -= g->pawns[i] > slot;
                for (int i = 0; i < GUARDS; i++) g->guards[i] -= g->guards[i] > slot;
            }
        }
    } else {
        int guard = action - FIRST_GUARD, to = g->guards[guard] + g->die;
        advance(g->guards, guard, g->n_guards, to > g->finish ? g->finish : to);
    }
    end_turn(g);
}

static int points(const Game *g, int seat) {
    int total = 0;
    const int8_t *counts = g->counts[seat], *tower = g->towers[seat];
    if (g->scoring) {
        for (int level = 0; level < g->heights[seat]; level++)
            total += tower[level + 1] == LUCKY && level + 1 < g->heights[seat] ? -tower[level] : tower[level];
        return total;
    }
    int unused = counts[LUCKY - MIN_VALUE];
    for (int value = MIN_VALUE; value < MIN_VALUE + VALUES; value++) {
        int tiles = counts[value - MIN_VALUE], turned = 0;
        if (value < 0) turned = tiles < unused ? tiles : unused;
        total += value * (tiles - 2 * turned);
        unused -= turned;
    }
    return total;
}

/* the loop ----------------------------------------------------------------------------------- */

static inline void roll_on(Game *g) {
    if (g->phase == ROLL) {
        g->die = 1 + draw(g->deal ^ 0xD1CED1CED1CED1CEu, g->rolls++, 6);
        g->phase = MOVE;
    }
}

static inline void begin(Game *g, const Rules *r, uint64_t stream, uint64_t number) {
    deal(g, r, draw64(stream, number));
    roll_on(g);
}

int64_t random_decisions(Game *games, uint64_t *streams, uint64_t *numbers, const Rules *rules, int64_t n_games,
                         int64_t n_decisions) {
    int64_t sum = 0;
    for (int64_t i = 0; i < n_games; i++) {
        Game *g = games + i;
        if (!numbers[i]) begin(g, rules, streams[i], numbers[i]), numbers[i]++;
        for (int64_t d = 0; d < n_decisions; d++) {
            unsigned bits = legal(g);
            uint64_t key = draw64(g->deal ^ 0xC401CE5C401CE5C4u, g->decisions);
            int n = (int)draw(key, 0, __builtin_popcount(bits));
            while (n--) bits &= bits - 1;
            play(g, __builtin_ctz(bits));
            g->decisions++;
            if (g->phase == OVER) {
                for (int seat = 0; seat < g->players; seat++) sum += (seat + 1) * points(g, seat);
                begin(g, rules, streams[i], numbers[i]++);
            } else {
                roll_on(g);
            }
        }
    }
    return sum;
}

int64_t game_size(void) { return sizeof(Game); }
