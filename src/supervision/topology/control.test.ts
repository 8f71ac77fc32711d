import { describe, expect, it } from 'vitest';
import { NO_TREE } from '../../protocols/topology.ts';
import { TopologyApplier, type TopologyHost } from './apply.ts';
import { TopologyControl } from './control.ts';
import { KNOWN } from './testing.ts';

const refuseAll = async () => {
  throw new Error('nothing may be done here');
};
const host: TopologyHost = {
  ...{
    running: () => [],
    start: refuseAll,
    stop: refuseAll,
    move: refuseAll,
    reconfigure: refuseAll,
    restart: refuseAll,
  },
  health: async () => ({ unwell: [] }),
};
const clock = { nowMs: () => 0, sleep: async () => {} };
const controlOf = () => new TopologyControl(new TopologyApplier(host, clock, NO_TREE), KNOWN, () => {});
const good = { 'kernel.yaml': '{}', 'topology.yaml': '{}' } as const;

describe('the control routes', () => {
  it.each([
    ['nothing', undefined],
    ['a list', []],
    ['no files', {}],
    ['files that are no text', { files: { 'kernel.yaml': 1 } }],
    ['a file that is too large', { files: { ...good, 'kernel.yaml': 'x'.repeat(300_000) } }],
    ['an unknown key', { files: good, force: true }],
  ])('answer %s with an error, and do nothing', async (_what, body) => {
    expect(controlOf().plan(body)).toMatchObject({ kind: 'error', code: 'TW_BAD_USAGE' });
    expect(await controlOf().apply(body)).toMatchObject({ kind: 'error', code: 'TW_BAD_USAGE' });
  });

  it('answer wrong, missing and stray files with their issues', async () => {
    const issuesOf = async (files: Record<string, string>) => {
      const reply = await controlOf().apply({ files });
      return reply.kind === 'invalid' ? reply.issues.map(({ file, path }) => `${file} ${path}`) : [];
    };
    expect(await issuesOf({ ...good, 'topology.yaml': 'book: { depth: 0 }' })).toEqual(['topology.yaml book.depth']);
    expect(await issuesOf({ 'kernel.yaml': '{}' })).toEqual(['topology.yaml ']);
    expect(await issuesOf({ ...good, '../passwd': '{}' })).toEqual(['../passwd ']);
  });

  it('tell the plan from nothing', () => {
    expect(controlOf().plan({ files: good })).toMatchObject({ kind: 'planned', plan: { from: 'none' } });
  });
});
