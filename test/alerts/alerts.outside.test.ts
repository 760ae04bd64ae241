/** Runs the alert rules in Prometheus: each alert fires when it should, and only then. */
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { needs } from '../support/skips/needs.ts';
import { promtoolSkipReason, promtool } from '../support/skips/promtool.ts';

const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const rulesFile = path('../../grafana/alerts/ledger-indexer.rules.yaml');
const caseFiles = readdirSync(path('.')).filter((name) => name.endsWith('.test.yaml'));

describe('alert rules', needs(promtoolSkipReason), () => {
  it('pass `promtool check rules`', () => {
    const { status, stdout, stderr } = promtool(['check', 'rules', rulesFile]);
    expect({ status, stderr }, stdout).toEqual({ status: 0, stderr: '' });
    expect(stdout).toMatch(/[1-9]\d* rules found/);
  });

  it.each(caseFiles)('fire exactly as expected in %s', (file) => {
    const { status, stdout, stderr } = promtool(['test', 'rules', path(file)]);
    expect(status, stdout + stderr).toBe(0);
  });
});
