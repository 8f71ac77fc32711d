import { z } from 'zod';
import type { TopologyReply } from '../../protocols/control-api.ts';
import type { TopologyTree } from '../../protocols/topology.ts';
import { viewOf } from '../../protocols/topology-plan.ts';
import type { ApplyOptions, ApplyOutcome, TopologyApplier } from './apply.ts';
import type { Surroundings } from './checker.ts';
import { compileTopology } from './compile.ts';
import { type ConfigFiles, type Configuration, checkConfiguration } from './load.ts';
import { FILE_BYTES_MAX } from './yaml-document.ts';

const requestSchema = z.strictObject({
  files: z.record(z.string().max(256), z.string().max(FILE_BYTES_MAX)),
  expectedFrom: z.string().max(64).optional(),
});

/** The HTTP status that goes with a reply. */
export const STATUS_OF: Readonly<Record<TopologyReply['kind'], number>> = {
  ...{ planned: 200, applied: 200, refused: 409, 'rolled-back': 409, invalid: 422, 'rollback-failed': 500, error: 400 },
};

/** What the control routes do, without the HTTP: takes parsed JSON that anyone may have sent, and always answers. */
export class TopologyControl {
  readonly #applier: TopologyApplier;
  readonly #around: Surroundings;
  readonly #onApplied: (config: Configuration, files: ConfigFiles) => void;
  readonly #compile: (config: Configuration) => TopologyTree;

  /**
   * `onApplied` is told of each configuration that took, so that it can be kept. `compile` may leave out what cannot run
   * on this machine.
   */
  constructor(
    applier: TopologyApplier,
    around: Surroundings,
    onApplied: (config: Configuration, files: ConfigFiles) => void,
    compile: (config: Configuration) => TopologyTree = compileTopology,
  ) {
    this.#compile = compile;
    this.#applier = applier;
    this.#around = around;
    this.#onApplied = onApplied;
  }

  plan(body: unknown): TopologyReply {
    const read = this.#read(body);
    if (!read.ok) return read.reply;
    return { kind: 'planned', plan: viewOf(this.#applier.plan(this.#compile(read.config))) };
  }

  async apply(body: unknown): Promise<TopologyReply> {
    const read = this.#read(body);
    if (!read.ok) return read.reply;
    const { kernel } = read.config;
    const options: ApplyOptions = {
      ...{ deadlineMs: kernel.topology.healthDeadline, stableForMs: kernel.topology.stableFor, mustServe: true },
      ...(read.expectedFrom === undefined ? {} : { expectedFrom: read.expectedFrom }),
    };
    const outcome = await this.#applier.apply(this.#compile(read.config), options);
    if (outcome.kind === 'applied') this.#onApplied(read.config, read.files);
    return replyFor(outcome);
  }

  #read(body: unknown) {
    const request = requestSchema.safeParse(body);
    if (!request.success) {
      const message = 'expected {"files": {"kernel.yaml": "...", "topology.yaml": "..."}}';
      return { ok: false, reply: { kind: 'error', code: 'TW_BAD_USAGE', message } } as const;
    }
    const { files: texts, expectedFrom } = request.data;
    const files = new Map(Object.entries(texts).map(([name, text]) => [name, Buffer.from(text)]));
    const checked = checkConfiguration(files, this.#around, (name) => name);
    if (!checked.ok) return { ok: false, reply: { kind: 'invalid', issues: checked.issues } } as const;
    return { ok: true, config: checked.value, files, expectedFrom } as const;
  }
}

function replyFor(outcome: ApplyOutcome): TopologyReply {
  if (outcome.kind === 'refused') return outcome;
  if (outcome.kind === 'applied') return { kind: 'applied', plan: viewOf(outcome.plan) };
  const { kind, code, reason, undone, astray } = outcome;
  return { kind, code, reason, undone: undone.map((step) => `${step.action} ${step.path}`), astray };
}
