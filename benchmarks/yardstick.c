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
    int8_t finish, players, pawns_each, n_guards, with_guards, scoring, phase, player, die;
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
    g->with_guards = r->with_guards;
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

/* the observation ------------------------------------------------------------------------------
 * AT_NAME is where the row `name` of LAYOUT begins; benchmarks/run.py defines them all. */

static inline float value_of(int tile) { return (tile < GIFT ? tile : 0) * (1 / 10.0); }
static inline float lucky_of(int tile) { return tile == LUCKY; }
static inline float action_of(int tile) { return (float)((tile == GIFT) - (tile == STEAL)); }

static inline int points_if(const Game *g, int seat, int removed, int added) {
    const int8_t *counts = g->counts[seat], *tower = g->towers[seat];
    if (g->scoring) {
        int height = g->heights[seat] - (removed != NO_TILE), total = added == NO_TILE ? 0 : added;
        for (int level = 0; level < height; level++) {
            int above = level + 1 < height ? tower[level + 1] : added;
            total += above == LUCKY ? -tower[level] : tower[level];
        }
        return total;
    }
    int unused = counts[LUCKY - MIN_VALUE] - (removed == LUCKY) + (added == LUCKY);
    int total = (added == NO_TILE ? 0 : added) - (removed == NO_TILE ? 0 : removed);
    for (int i = 0; i < VALUES; i++) total += (i + MIN_VALUE) * counts[i];
    for (int value = MIN_VALUE; value < 0 && unused > 0; value++) {
        int tiles = counts[value - MIN_VALUE] - (removed == value) + (added == value);
        int turned = tiles < unused ? tiles : unused;
        total -= 2 * value * turned;
        unused -= turned;
    }
    return total;
}

static void write_change(const Game *g, int tile, float takes, int own, int others, float *out) {
    int n_others = g->players - 1;
    out[AT_TAKES] = takes;
    out[AT_TAKEN_LUCKY] = lucky_of(tile);
    out[AT_TAKEN_VALUE] = value_of(tile);
    out[AT_OWN_CHANGE] = own * (1 / 20.0);
    out[AT_LEAD_CHANGE] = (float)(n_others * own - others) / (float)(n_others * 40);
}

static void write_transfer(const Game *g, int phase, int other, const int *points_of, float *out) {
    int seat = g->player, giver = phase == GIVE ? seat : other, taker = phase == GIVE ? other : seat;
    int tile = g->towers[giver][g->heights[giver] - 1];
    int loss = points_if(g, giver, tile, NO_TILE) - points_of[giver];
    int gain = points_if(g, taker, NO_TILE, tile) - points_of[taker];
    if (phase == GIVE)
        write_change(g, tile, -1, loss, gain, out);
    else
        write_change(g, tile, 1, gain, loss, out);
}

static inline int count_on(const int8_t *pieces, int n, int slot) {
    int count = 0;
    for (int i = 0; i < n; i++) count += pieces[i] == slot;
    return count;
}

static inline void observe(const Game *g, int seat, unsigned bits, float *restrict out, uint8_t *restrict mask) {
    for (int action = 0; action < 16; action++) mask[action] = bits >> action & 1;
    memset(out, 0, OBS_SIZE * sizeof *out);
    int players = g->players, finish = g->finish;
    if (g->die) out[AT_DIE + g->die - 1] = 1;
    out[AT_PHASE + g->phase] = 1;
    out[AT_TO_ACT + (g->player - seat + players) % players] = 1;
    out[AT_PLAYERS + players - 2] = 1;
    out[AT_PAWNS_EACH + g->pawns_each - 1] = 1;
    out[AT_WITH_GUARDS] = g->with_guards;
    out[AT_EXPERT] = g->scoring;
    out[AT_FINISH] = finish * (1 / 37.0);
    const int8_t *restrict tiles = g->track + 1;
    int8_t values[48];
    for (int i = 0; i < 48; i++) values[i] = tiles[i] < GIFT ? tiles[i] : 0;
    for (int i = 0; i < 36; i++) out[AT_TILE_VALUE + i] = (float)values[i] / 10.0f;
    for (int i = 0; i < 36; i++) out[AT_TILE_LUCKY + i] = lucky_of(tiles[i]);
    for (int i = 0; i < 36; i++) out[AT_TILE_ACTION + i] = action_of(tiles[i]);
    for (int guard = 0; guard < g->n_guards; guard++) {
        int slot = g->guards[guard];
        int place = slot == 0 ? AT_GUARDS_OFF : slot == finish ? AT_GUARDS_OFF + 1 : AT_GUARDS + slot - 1;
        out[place] += 0.125f;
    }
    int points_of[PLAYERS];
    for (int steps = 0; steps < players; steps++) {
        int who = seat_after(g, seat, steps), here = 0, before = NOWHERE;
        for (int pawn = 0; pawn < g->pawns_each; pawn++) {
            int slot = g->pawns[who * PAWNS + pawn];
            here = slot == before ? here + 1 : 1;
            before = slot;
            int place = slot == 0        ? AT_AT_START + steps
                        : slot == finish ? AT_HOME + steps
                                         : AT_PAWNS + steps * 36 + slot - 1;
            out[place] = here * (1 / 3.0);
        }
        const int8_t *tower = g->towers[who];
        int height = g->heights[who];
        points_of[who] = points_if(g, who, NO_TILE, NO_TILE);
        out[AT_POINTS + steps] = points_of[who] * (1 / 128.0);
        out[AT_LUCKY + steps] = g->counts[who][LUCKY - MIN_VALUE] * (1 / 8.0);
        out[AT_HEIGHT + steps] = height * (1 / 32.0);
        for (int k = 0; k < 4 && k < height; k++) {
            int tile = tower[height - 1 - k];
            out[AT_TOP_VALUE + k * PLAYERS + steps] = value_of(tile);
            out[AT_TOP_LUCKY + k * PLAYERS + steps] = lucky_of(tile);
        }
        int first = MIN_VALUE, second = MIN_VALUE, third = MIN_VALUE, tiles = 0;
        for (int i = 0; i < -MIN_VALUE; i++) {
            tiles += g->counts[who][i];
            first += tiles <= 0, second += tiles <= 1, third += tiles <= 2;
        }
        out[AT_LARGEST_MINUS + steps] = first * (1 / 10.0);
        out[AT_LARGEST_MINUS + PLAYERS + steps] = second * (1 / 10.0);
        out[AT_LARGEST_MINUS + 2 * PLAYERS + steps] = third * (1 / 10.0);
    }
    if (seat != g->player) return;
    for (; bits; bits &= bits - 1) {
        int action = __builtin_ctz(bits);
        float *to = out + action;
        to[AT_LEGAL] = 1;
        if (action >= FIRST_OPPONENT) {
            write_transfer(g, g->phase, seat_after(g, seat, action - FIRST_OPPONENT + 1), points_of, to);
            continue;
        }
        int is_pawn = action < FIRST_GUARD;
        int slot = is_pawn ? g->pawns[seat * PAWNS + action] : g->guards[action - FIRST_GUARD];
        int target = slot + g->die < finish ? slot + g->die : finish, tile = g->track[target];
        int stay = count_on(g->pawns, 32, slot) + count_on(g->guards, GUARDS, slot) - 1;
        int own = count_on(g->pawns + seat * PAWNS, PAWNS, target);
        to[AT_FROM_SLOT] = slot * (1 / 37.0);
        to[AT_TO_SLOT] = target * (1 / 37.0);
        to[AT_STAY] = stay * (1 / 6.0);
        to[AT_LAND_VALUE] = value_of(tile);
        to[AT_LAND_LUCKY] = lucky_of(tile);
        to[AT_LAND_ACTION] = action_of(tile);
        to[AT_LAND_OWN] = own * (1 / 3.0);
        to[AT_LAND_OPPONENTS] = (count_on(g->pawns, 32, target) - own) * (1 / 5.0);
        to[AT_LAND_GUARDS] = (float)count_on(g->guards, GUARDS, target) / 8.0f;
        if (!is_pawn || stay || !slot) continue;
        int left = g->track[slot];
        if (left == GIFT || left == STEAL) {
            unsigned choices = left == GIFT ? receivers(g) : victims(g);
            to[AT_TURNS] = left == GIFT ? 1 : -1;
            if (choices && !(choices & (choices - 1)))
                write_transfer(g, left == GIFT ? GIVE : STEALING,
                               seat_after(g, seat, __builtin_ctz(choices) - FIRST_OPPONENT + 1), points_of, to);
        } else {
            write_change(g, left, 1, points_if(g, seat, NO_TILE, left) - points_of[seat], 0, to);
        }
    }
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

static inline int64_t play_on(Game *games, uint64_t *streams, uint64_t *numbers, const Rules *rules, int64_t n_games,
                              int64_t n_decisions, float *observations, uint8_t *masks) {
    int64_t sum = 0;
    for (int64_t i = 0; i < n_games; i++) {
        Game *g = games + i;
        if (!numbers[i]) begin(g, rules, streams[i], numbers[i]), numbers[i]++;
        for (int64_t d = 0; d < n_decisions; d++) {
            unsigned bits = legal(g);
            if (observations) observe(g, g->player, bits, observations + i * OBS_SIZE, masks + i * 16);
            uint64_t key = draw64(g->deal ^ 0xC401CE5C401CE5C4u, g->decisions);
            int n = (int)draw(key, 0, __builtin_popcount(bits));
            while (n--) bits &= bits - 1;
            play(g, __builtin_ctz(bits));
            g->decisions++;
            if (g->phase == OVER) {
                for (int seat = 0; seat < g->players; seat++) sum += (seat + 1) * points_if(g, seat, NO_TILE, NO_TILE);
                begin(g, rules, streams[i], numbers[i]++);
            } else {
                roll_on(g);
            }
        }
    }
    return sum;
}

int64_t random_decisions(Game *games, uint64_t *streams, uint64_t *numbers, const Rules *rules, int64_t n_games,
                         int64_t n_decisions) {
    return play_on(games, streams, numbers, rules, n_games, n_decisions, 0, 0);
}

int64_t observed_decisions(Game *games, uint64_t *streams, uint64_t *numbers, const Rules *rules, int64_t n_games,
                           int64_t n_decisions, float *observations, uint8_t *masks) {
    return play_on(games, streams, numbers, rules, n_games, n_decisions, observations, masks);
}

int64_t game_size(void) { return sizeof(Game); }
