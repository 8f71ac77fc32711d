/** One trade as a venue reports it. On venues that aggregate, it stands for the raw trades firstId..lastId. */
export interface SimulatedTrade {
  /** Position in the symbol's history, from 1, without holes. */
  readonly sequence: number;
  readonly price: number;
  readonly lots: number;
  readonly timeUs: number;
  readonly takerBuys: boolean;
  readonly firstId: number;
  readonly lastId: number;
}

const COLUMNS = 5;
const FIRST_CAPACITY = 256;

/**
 * The exact history of one symbol on one venue, newest `retain` trades. Columns in one flat array, so that a million
 * trades cost 40 bytes each: price, lots (negative where the taker sells), time, first id, last id.
 */
export class TradeLog {
  readonly #retain: number;
  #rows: Float64Array;
  #capacity: number;
  /** Sequence of the next trade. */
  #next = 1;
  #nextId = 1;
  #newestUs = 0;
  /** False once the venue's clock was set back: then time does not order the log. */
  ordered = true;

  constructor(retain: number) {
    this.#retain = retain;
    this.#capacity = Math.min(retain, FIRST_CAPACITY);
    this.#rows = new Float64Array(this.#capacity * COLUMNS);
  }

  /** Sequence of the oldest trade that is still here; equal to `next` when the log is empty. */
  get first(): number {
    return Math.max(1, this.#next - this.#capacity);
  }

  get next(): number {
    return this.#next;
  }

  push(price: number, lots: number, timeUs: number, takerBuys: boolean, rawTrades: number): void {
    if (this.#next > this.#capacity && this.#capacity < this.#retain) this.#grow();
    const at = ((this.#next - 1) % this.#capacity) * COLUMNS;
    this.#rows[at] = price;
    this.#rows[at + 1] = takerBuys ? lots : -lots;
    this.#rows[at + 2] = timeUs;
    this.#rows[at + 3] = this.#nextId;
    this.#rows[at + 4] = this.#nextId + rawTrades - 1;
    this.#nextId += rawTrades;
    this.#next++;
    if (timeUs < this.#newestUs) this.ordered = false;
    this.#newestUs = timeUs;
  }

  at(sequence: number): SimulatedTrade {
    const at = ((sequence - 1) % this.#capacity) * COLUMNS;
    const lots = this.#rows[at + 1]!;
    return {
      sequence,
      price: this.#rows[at]!,
      lots: Math.abs(lots),
      timeUs: this.#rows[at + 2]!,
      takerBuys: lots > 0,
      firstId: this.#rows[at + 3]!,
      lastId: this.#rows[at + 4]!,
    };
  }

  /** Trades from a sequence number on, at most `limit`. */
  from(sequence: number, limit: number): SimulatedTrade[] {
    const start = Math.max(sequence, this.first);
    const count = Math.max(0, Math.min(limit, this.#next - start));
    return Array.from({ length: count }, (_, index) => this.at(start + index));
  }

  /** Trades with startUs <= time < endUs in the order of the log, at most `limit`. */
  between(startUs: number, endUs: number, limit: number): SimulatedTrade[] {
    const found: SimulatedTrade[] = [];
    for (let sequence = this.ordered ? this.#since(startUs) : this.first; sequence < this.#next; sequence++) {
      const timeUs = this.#rows[((sequence - 1) % this.#capacity) * COLUMNS + 2]!;
      if (timeUs >= endUs && this.ordered) break;
      if (timeUs >= startUs && timeUs < endUs) found.push(this.at(sequence));
      if (found.length === limit) break;
    }
    return found;
  }

  /** The newest trade before a time, in the order of the log. */
  lastBefore(timeUs: number): SimulatedTrade | undefined {
    let sequence = (this.ordered ? this.#since(timeUs) : this.#next) - 1;
    while (sequence >= this.first && this.at(sequence).timeUs >= timeUs) sequence--;
    return sequence < this.first ? undefined : this.at(sequence);
  }

  /** The first sequence whose time is not before the given one; the log must be ordered. */
  #since(timeUs: number): number {
    let low = this.first;
    let high = this.#next;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (this.at(middle).timeUs < timeUs) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #grow(): void {
    const capacity = Math.min(this.#retain, this.#capacity * 2);
    const rows = new Float64Array(capacity * COLUMNS);
    rows.set(this.#rows);
    this.#rows = rows;
    this.#capacity = capacity;
  }
}
