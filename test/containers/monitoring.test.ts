import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { METRICS } from './exported-metrics.ts';
import { root, textOf, yamlOf } from './files.ts';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string };
}
const { groups } = yamlOf('monitoring/alerts.yml') as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly targets?: readonly { readonly expr: string }[];
}
const dashboard = JSON.parse(textOf('monitoring/grafana/dashboards/tapeworks.json')) as { panels: Panel[] };
const queries = dashboard.panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr }) => [title, expr] as const),
);

/** Metrics that Prometheus makes itself. */
const OWN = new Set(['up']);

/** What a query names: metrics, and the labels that select or group them. */
function namesIn(expr: string): { metrics: string[]; labels: string[] } {
  const plain = expr.replace(/"[^"]*"/g, '""').replaceAll(/\[[^\]]*\]/g, '[]');
  const labels = [
    ...[...plain.matchAll(/\{([^}]*)\}/g)].flatMap((match) => [...match[1]!.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)]),
    ...[...plain.matchAll(/\bby \(([^)]*)\)/g)].flatMap((match) => [...match[1]!.matchAll(/(\w+)/g)]),
  ].map((match) => match[1]!);
  const bare = plain.replace(/\{[^}]*\}/g, '').replace(/\bby \([^)]*\)/g, '');
  const metrics = [...bare.matchAll(/\b([a-z_]\w*)\b(?!\s*\()/g)].map((match) => match[1]!);
  const words = new Set(['and', 'or', 'unless', 'by', 'on', 'ignoring']);
  return { metrics: metrics.filter((name) => !words.has(name)), labels };
}

function baseOf(metric: string): string {
  const base = metric.replace(/_(bucket|sum|count)$/, '');
  return METRICS[base]?.type === 'histogram' ? base : metric;
}

function unknownIn(expr: string): string[] {
  const { metrics, labels } = namesIn(expr);
  const known = new Set(['job', 'le', ...metrics.flatMap((metric) => METRICS[baseOf(metric)]?.labels ?? [])]);
  return [
    ...metrics.filter((metric) => !OWN.has(metric) && METRICS[baseOf(metric)] === undefined),
    ...labels.filter((label) => !known.has(label)).map((label) => `label ${label}`),
  ];
}

describe('the check of queries', () => {
  it('sees a name or a label that does not exist', () => {
    expect(unknownIn('rate(actor_mesages_total[5m])')).toEqual(['actor_mesages_total']);
    expect(unknownIn('sum by (actor) (actor_up{path=~"x"})')).toEqual(['label actor']);
    expect(unknownIn('rate(actor_messages_total_bucket[5m])')).toEqual(['actor_messages_total_bucket']);
  });
});

describe('the alert rules', () => {
  it.each(rules.map((rule) => [rule.alert, rule] as const))('%s uses what exists and says what to do', (name, rule) => {
    expect(unknownIn(rule.expr)).toEqual([]);
    expect(rule.labels.severity).toMatch(/^(page|ticket)$/);
    expect(textOf('docs/operations.md')).toContain(`### ${name}\n`);
  });

  it('are unlike each other in name', () => {
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
  });

  const promtool = spawnSync('promtool', ['--version']).status === 0;
  it.skipIf(!promtool)('pass promtool, where it is installed (package prometheus)', () => {
    for (const args of [
      ['check', 'rules', 'alerts.yml'],
      ['check', 'config', '--syntax-only', 'prometheus.yml'],
      ['test', 'rules', 'alerts.test.yml'],
    ]) {
      const { status, stdout, stderr } = spawnSync('promtool', args, { cwd: `${root}monitoring`, encoding: 'utf8' });
      expect([args.join(' '), status, status === 0 ? '' : stdout + stderr]).toEqual([args.join(' '), 0, '']);
    }
  });
});

describe('the Grafana dashboard', () => {
  it.each(queries)('%s: %s uses what exists', (_title, expr) => {
    expect(unknownIn(expr)).toEqual([]);
  });

  it('has a row for each plane, and panels with ids of their own', () => {
    const rows = dashboard.panels.filter(({ type }) => type === 'row').map(({ title }) => title);
    for (const plane of ['Control plane', 'Hot plane', 'Batch plane']) {
      expect(rows.some((title) => title.startsWith(plane))).toBe(true);
    }
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
  });

  it('is provisioned where the data source is', () => {
    const { datasources } = yamlOf('monitoring/grafana/provisioning/datasources/prometheus.yml') as {
      datasources: { uid: string }[];
    };
    const used = new Set(
      [...textOf('monitoring/grafana/dashboards/tapeworks.json').matchAll(/"uid": "(\w+)"/g)].map((match) => match[1]),
    );
    expect([...used].sort()).toEqual([...datasources.map(({ uid }) => uid), 'tapeworks'].sort());
  });
});
