import { ORDER_STOP, THREAD } from '../../src/supervision/threads/thread-block.ts';
import type { Program, Scenario } from './explorer.ts';
import type { Mailboxes } from './mailboxes.ts';
import { expectInOrder, ringTools } from './ring-scenarios.ts';
import type { SimulatedMemory } from './simulated-memory.ts';

const DOORBELL_AT = 8192;
const BLOCK_AT = 12_288;
const FLAGS = 4096; // words that stand for the mailboxes of many producers

function consumeAll(
  boxes: Mailboxes,
  memory: SimulatedMemory,
  count: number,
  spins: number,
  doWork: () => number,
): void {
  const doorbell = new boxes.doorbell.Doorbell(memory, DOORBELL_AT);
  const idle = new boxes.idle.SpinThenPark(doorbell, spins, 1000);
  let got = 0;
  while (got < count) {
    const work = doWork();
    got += work;
    idle.idle(work);
  }
}

/** A consumer that parks is woken for every record, by a producer that rings only when it must. */
export function wakesForEveryRecord(boxes: Mailboxes, spins: number, timeouts = false): Scenario {
  const tools = ringTools(boxes, { capacity: 4 });
  const producing: Program = (memory) => {
    const producer = tools.producer(memory);
    const doorbell = new boxes.doorbell.Doorbell(memory, DOORBELL_AT);
    for (const value of [1, 2]) {
      producer.offer(tools.record(value));
      doorbell.ring();
    }
  };
  const consuming: Program = (memory, self) => {
    const consumer = tools.consumer(memory);
    const read = tools.reading(memory, self.note);
    consumeAll(boxes, memory, 2, spins, () => consumer.drain(read, 4));
  };
  return {
    setup: tools.setup,
    threads: [producing, consuming],
    check: ([, got]) => expectInOrder(got!, [1, 2]),
    preemptions: timeouts ? 1 : 3,
    timeouts,
  };
}

/** Several producers share the doorbell of one consumer. */
export function wakesForEveryProducer(boxes: Mailboxes): Scenario {
  const producing =
    (index: number): Program =>
    (memory) => {
      memory.store(FLAGS + index, 1);
      new boxes.doorbell.Doorbell(memory, DOORBELL_AT).ring();
    };
  const consuming: Program = (memory, self) => {
    const look = () => {
      let work = 0;
      for (const index of [0, 1]) if (memory.exchange(FLAGS + index, 0) === 1) work++;
      for (let each = 0; each < work; each++) self.note(1);
      return work;
    };
    consumeAll(boxes, memory, 2, 0, look);
  };
  return {
    setup: () => {},
    threads: [producing(0), producing(1), consuming],
    check: (notes) => expectInOrder(notes[2]!, [1, 1]),
    preemptions: 3,
  };
}

/** An order to stop reaches a duty cycle that is about to park. */
export function stopsWhileParking(boxes: Mailboxes): Scenario {
  const stopping: Program = (memory) => {
    memory.store(BLOCK_AT / 4 + THREAD.ORDER, ORDER_STOP);
    new boxes.doorbell.Doorbell(memory, DOORBELL_AT).ring();
  };
  const working: Program = (memory, self) => {
    const doorbell = new boxes.doorbell.Doorbell(memory, DOORBELL_AT);
    const duty = { doWork: () => 0, onStop: () => self.note(1) };
    boxes.duty.runDutyCycle(duty, new boxes.idle.Park(doorbell, 1000), memory, BLOCK_AT);
  };
  return {
    setup: () => {},
    threads: [stopping, working],
    check: ([, stopped]) => expectInOrder(stopped!, [1]),
    preemptions: 4,
  };
}
