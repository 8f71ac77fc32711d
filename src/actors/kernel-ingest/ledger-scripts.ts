import { createHash } from 'node:crypto';

// What changes the pending list and the ledger runs inside Redis, in one step: nobody ever sees the one without the other,
// and an entry that had left the pending list before is never counted a second time. So a step whose answer was lost can
// simply be repeated. The first line makes Redis refuse a script as a whole where it could not finish it (out of memory,
// read-only), rather than in the middle.

export interface LedgerScript {
  readonly text: string;
  readonly sha: string;
}

function script(lines: string): LedgerScript {
  const text = `#!lua\n${lines}`;
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}

/** An XACK names at most so many entries: Lua's stack is bounded. */
const ACK_CHUNK = 1_000;

/**
 * Entries leave the pending list and their fates are counted.
 *
 *   KEYS  stream, ledger, dead letters, replies
 *   ARGV  group | duplicates among the stored | number of fates  | for each: term, count, ids
 *               | number of messages | for each: term, id, key (3 or 4), longest (0 for no limit), count of fields, fields
 *
 * A message (a dead letter, an answer) is written only if its entry is acknowledged by this very call. It is written first
 * and taken back otherwise, so that a key which cannot be written stops the script before anything is acknowledged.
 */
export const ACKNOWLEDGE = script(`
local stream, ledger, group = KEYS[1], KEYS[2], ARGV[1]
redis.call('HINCRBY', ledger, 'stored', 0)
local acked, duplicates, at = 0, tonumber(ARGV[2]), 4
local skip = at
for _ = 1, tonumber(ARGV[3]) do skip = skip + 2 + tonumber(ARGV[skip + 1]) end
local next = skip + 1
for _ = 1, tonumber(ARGV[skip]) do
  local term, id, key, longest, fields = ARGV[next], ARGV[next + 1], KEYS[tonumber(ARGV[next + 2])], ARGV[next + 3], tonumber(ARGV[next + 4])
  local added
  if longest == '0' then added = redis.call('XADD', key, '*', unpack(ARGV, next + 5, next + 4 + fields))
  else added = redis.call('XADD', key, 'MAXLEN', '~', longest, '*', unpack(ARGV, next + 5, next + 4 + fields)) end
  if redis.call('XACK', stream, group, id) == 1 then
    acked = acked + 1
    redis.call('HINCRBY', ledger, term, 1)
  else redis.call('XDEL', key, added) end
  next = next + 5 + fields
end
for _ = 1, tonumber(ARGV[3]) do
  local term, count, taken = ARGV[at], tonumber(ARGV[at + 1]), 0
  for from = at + 2, at + 1 + count, ${ACK_CHUNK} do
    taken = taken + redis.call('XACK', stream, group, unpack(ARGV, from, math.min(from + ${ACK_CHUNK - 1}, at + 1 + count)))
  end
  if term == 'stored' then
    local twice = math.min(taken, math.max(0, duplicates - (count - taken)))
    if twice > 0 then redis.call('HINCRBY', ledger, 'duplicate', twice) end
    if taken > twice then redis.call('HINCRBY', ledger, 'stored', taken - twice) end
  elseif taken > 0 then redis.call('HINCRBY', ledger, term, taken) end
  acked, at = acked + taken, at + 2 + count
end
return acked
`);

/**
 * Makes the group from the stream's first entry on, and counts what it is given again. Answers 1 when it was made here.
 *
 *   KEYS  stream, ledger      ARGV  group | terms of the ledger that count an acknowledged entry
 */
export const ENSURE_GROUP = script(`
local made = redis.pcall('XGROUP', 'CREATE', KEYS[1], ARGV[1], '0', 'MKSTREAM')
if type(made) == 'table' and made.err then
  if string.find(made.err, 'BUSYGROUP', 1, true) then return 0 end
  return made
end
local added, length, info = 0, 0, redis.call('XINFO', 'STREAM', KEYS[1])
for at = 1, #info, 2 do
  if info[at] == 'entries-added' then added = info[at + 1] elseif info[at] == 'length' then length = info[at + 1] end
end
local acknowledged = -tonumber(redis.call('HGET', KEYS[2], 'reoffered') or 0)
for at = 2, #ARGV do acknowledged = acknowledged + tonumber(redis.call('HGET', KEYS[2], ARGV[at]) or 0) end
redis.call('HINCRBY', KEYS[2], 'reoffered', acknowledged + length - added)
return 1
`);

/**
 * Takes over entries; those that are gone from the stream leave the pending list and are counted as trimmed.
 *
 *   KEYS  stream, ledger      ARGV  group | consumer | idle ms | from id | count
 */
export const CLAIM = script(`
local found = redis.call('XAUTOCLAIM', KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4], 'COUNT', ARGV[5])
if found[3] and #found[3] > 0 then redis.call('HINCRBY', KEYS[2], 'trimmed', #found[3]) end
return found
`);

/** Long enough for any retry and any replay after a crash. */
const BURIED_SECONDS = 86_400;

/**
 * Dead letters of entries that were acknowledged as spilled: each is written, and counted as dead-lettered rather than
 * spilled, once, however often it is asked for.
 *
 *   KEYS  dead letters, ledger, buried      ARGV  for each letter: id, count of fields, fields
 */
export const BURY = script(`
local at = 1
redis.call('HINCRBY', KEYS[2], 'spilled', 0)
while at <= #ARGV do
  local id, fields = ARGV[at], tonumber(ARGV[at + 1])
  if redis.call('HEXISTS', KEYS[3], id) == 0 then
    redis.call('XADD', KEYS[1], '*', unpack(ARGV, at + 2, at + 1 + fields))
    redis.call('HSET', KEYS[3], id, 1)
    redis.call('HINCRBY', KEYS[2], 'spilled', -1)
    redis.call('HINCRBY', KEYS[2], 'dead_lettered', 1)
  end
  at = at + 2 + fields
end
redis.call('EXPIRE', KEYS[3], ${BURIED_SECONDS})
return 1
`);
