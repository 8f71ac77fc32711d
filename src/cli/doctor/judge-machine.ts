// What the machine is worth to the configured program. Facts in, findings out; the probes are elsewhere.
import { type Finding, finding } from './finding.ts';

export interface MachineFacts {
  readonly node: string;
  readonly cores: number;
  /** What this process may use: the machine's memory, or the limit of its container. */
  readonly memoryBytes: number;
  /** The chosen word of /sys/kernel/mm/transparent_hugepage/enabled; undefined where it cannot be read. */
  readonly hugePages: string | undefined;
  /** Different ones among the cores; none where they cannot be read. */
  readonly governors: readonly string[];
  /** The kernel's list, such as `3` or `2-3`; undefined where it cannot be read. */
  readonly isolated: string | undefined;
  /** Files that may be open at once; undefined where there is no limit to read. */
  readonly openFiles: number | undefined;
}

/** What the configuration asks of a machine. */
export interface MachineNeeds {
  readonly pinnedThreads: number;
  readonly spinningThreads: readonly string[];
  /** Memory that the threads may fill together. */
  readonly threadBytes: number;
  /** Clients that the limits allow, each with a socket. */
  readonly sockets: number;
}

const MIB = 2 ** 20;
/** The program itself, the embedded servers and the simulated venues at rest. */
const BASE_BYTES = 768 * MIB;
/** Files, pipes and sockets besides those of clients. */
const BASE_FILES = 256;
const NODE_MIN = [20, 19] as const;

export function judgeMachine(facts: MachineFacts, needs: MachineNeeds): Finding[] {
  return [
    judgeNode(facts),
    judgeCores(facts, needs),
    judgeMemory(facts, needs),
    judgeFiles(facts, needs),
    ...judgeTuning(facts, needs),
  ];
}

function judgeNode({ node }: MachineFacts): Finding {
  const [major = 0, minor = 0] = node.replace(/^v/, '').split('.').map(Number);
  const isOld = major < NODE_MIN[0] || (major === NODE_MIN[0] && minor < NODE_MIN[1]);
  return finding('machine', isOld ? 'failure' : 'ok', 'TW_NODE_TOO_OLD', `Node ${node.replace(/^v/, '')}`);
}

function judgeCores({ cores }: MachineFacts, { pinnedThreads, spinningThreads }: MachineNeeds): Finding {
  const text = `${plural(cores, 'core')} for ${plural(pinnedThreads, 'pinned thread')} and the rest`;
  if (spinningThreads.length >= cores) {
    const names = spinningThreads.join(', ');
    return finding('machine', 'failure', 'TW_FEW_CORES', `${text}; ${names} would spin on all of them`);
  }
  // Pinned threads that park share a core without harm; more of them than cores only costs latency.
  return finding('machine', pinnedThreads >= cores ? 'note' : 'ok', 'TW_FEW_CORES', text);
}

function judgeMemory({ memoryBytes }: MachineFacts, { threadBytes }: MachineNeeds): Finding {
  const text = `${gib(memoryBytes)} of memory; the threads may fill ${gib(threadBytes)}`;
  const severity = memoryBytes < BASE_BYTES ? 'failure' : memoryBytes < BASE_BYTES + threadBytes ? 'warning' : 'ok';
  return finding('machine', severity, 'TW_LOW_MEMORY', text);
}

function judgeFiles({ openFiles }: MachineFacts, { sockets }: MachineNeeds): Finding {
  if (openFiles === undefined) return finding('machine', 'ok', 'TW_FILE_LIMIT', 'no limit on open files');
  const text = `${openFiles} open files allowed; the limits let clients use ${sockets}`;
  const severity = openFiles < BASE_FILES ? 'failure' : openFiles < BASE_FILES + sockets ? 'warning' : 'ok';
  return finding('machine', severity, 'TW_FILE_LIMIT', text);
}

function judgeTuning({ hugePages, governors, isolated }: MachineFacts, needs: MachineNeeds): Finding[] {
  const findings: Finding[] = [];
  if (hugePages !== undefined) {
    const severity = hugePages === 'always' ? 'note' : 'ok';
    findings.push(finding('machine', severity, 'TW_HUGE_PAGES', `transparent huge pages: ${hugePages}`));
  }
  if (governors.length > 0) {
    const isFast = governors.every((governor) => governor === 'performance');
    findings.push(finding('machine', isFast ? 'ok' : 'note', 'TW_CPU_GOVERNOR', `governor: ${governors.join(', ')}`));
  }
  if (needs.spinningThreads.length > 0 && isolated !== undefined) {
    const severity = isolated === '' ? 'warning' : 'ok';
    const text = `${needs.spinningThreads.join(', ')} spins; isolated cores: ${isolated || 'none'}`;
    findings.push(finding('machine', severity, 'TW_CORE_NOT_ISOLATED', text));
  }
  return findings;
}

export interface PinningFacts {
  readonly thread: string;
  readonly cpu: number;
  readonly how: 'sched_setaffinity' | 'taskset' | 'unpinned';
  readonly warning: string | undefined;
}

export function judgePinning(tried: readonly PinningFacts[], isLinux: boolean): Finding[] {
  if (!isLinux) return [finding('pinning', 'note', 'TW_PINNING', 'this system cannot bind threads to cores')];
  return tried.map(({ thread, cpu, how, warning }) =>
    warning === undefined
      ? finding('pinning', 'ok', 'TW_PINNING', `${thread}: core ${cpu}, by ${how}`)
      : finding('pinning', 'warning', 'TW_PINNING', `${thread}: ${warning}`),
  );
}

export const gib = (bytes: number) =>
  bytes >= 10 * 2 ** 30 ? `${Math.round(bytes / 2 ** 30)} GiB` : `${(bytes / 2 ** 30).toFixed(1)} GiB`;

const plural = (count: number, what: string) => `${count} ${what}${count === 1 ? '' : 's'}`;
