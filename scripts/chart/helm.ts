/** Runs Helm if it is installed. HELM names the program if it is not on the path. */
import { spawnSync } from 'node:child_process';
import { chartFolder } from './chart-files.ts';

const program = process.env['HELM'] ?? 'helm';

/** Command that installs Helm. */
export const helmInstallCommand = 'go install helm.sh/helm/v3/cmd/helm@v3.19.0';

/** Accepts only version 3, because other versions render differently. */
export function isHelmInstalled(): boolean {
  const { status, stdout } = spawnSync(program, ['version', '--template', '{{.Version}}'], { encoding: 'utf8' });
  return status === 0 && stdout.startsWith('v3.');
}

/** A Helm that was built by `go install` assumes Kubernetes 1.20, and there is no cluster to query. */
const cluster = ['--kube-version', '1.37.0'];

export interface HelmResult {
  readonly status: number;
  readonly stdout: string;
  /** Warnings, and the reason for a failure. */
  readonly stderr: string;
}

/** Runs one helm command on the chart, without a cluster and without network. @param root the project's folder */
export function helm(root: string, verb: 'lint' | 'template', args: readonly string[]): HelmResult {
  const commandArgs = verb === 'lint' ? ['lint', '--strict', chartFolder] : ['template', 'ledger-indexer', chartFolder];
  const { status, stdout, stderr, error } = spawnSync(program, [...commandArgs, ...cluster, ...args], {
    cwd: root,
    encoding: 'utf8',
    timeout: 60_000,
    maxBuffer: 32 * 1024 ** 2,
  });
  if (error !== undefined) throw new Error(`${program} cannot be run: ${error.message}`, { cause: error });
  return { status: status ?? 1, stdout, stderr };
}

/** Path of the example that needs no Helm, relative to the project. */
export const plainFile = 'docs/deploy/kubernetes.yaml';

const manifestHeader = `# Ledger Indexer on Kubernetes without Helm: one writer and one standby. docs/deploy/README.md says what to change.
# Rendered from the chart with docs/deploy/helm/plain.values.yaml: npm run docs:chart writes it.
`;

/** The chart rendered as plain YAML. @throws Error with the message of helm */
export function renderManifests(root: string): string {
  const { status, stdout, stderr } = helm(root, 'template', ['--values', 'docs/deploy/helm/plain.values.yaml']);
  if (status !== 0) throw new Error(`the chart cannot be rendered: ${stderr}`);
  return `${manifestHeader}${stdout}`;
}
