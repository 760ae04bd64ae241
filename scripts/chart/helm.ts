/** Helm itself, where it is here: HELM names the program where it is not on the path. */
import { spawnSync } from 'node:child_process';
import { chartFolder } from './chart-files.ts';

const program = process.env['HELM'] ?? 'helm';

/** How to have one. */
export const howToInstall = 'go install helm.sh/helm/v3/cmd/helm@v3.19.0';

/** Version 3 and nothing else: another one renders in its own way. */
export function isHelmInstalled(): boolean {
  const { status, stdout } = spawnSync(program, ['version', '--template', '{{.Version}}'], { encoding: 'utf8' });
  return status === 0 && stdout.startsWith('v3.');
}

/** One that `go install` made takes a cluster to be of 1.20; there is none to ask. */
const cluster = ['--kube-version', '1.37.0'];

export interface Helmed {
  readonly status: number;
  readonly stdout: string;
  /** Warnings, and why it failed. */
  readonly stderr: string;
}

/** One call of helm on the chart; it needs no cluster and no network. @param root the project's folder */
export function helm(root: string, verb: 'lint' | 'template', args: readonly string[]): Helmed {
  const words = verb === 'lint' ? ['lint', '--strict', chartFolder] : ['template', 'ledger-indexer', chartFolder];
  const { status, stdout, stderr, error } = spawnSync(program, [...words, ...cluster, ...args], {
    cwd: root,
    encoding: 'utf8',
    timeout: 60_000,
    maxBuffer: 32 * 1024 ** 2,
  });
  if (error !== undefined) throw new Error(`${program} cannot be run: ${error.message}`, { cause: error });
  return { status: status ?? 1, stdout, stderr };
}

/** The example without Helm, from the folder of the project. */
export const plainFile = 'docs/deploy/kubernetes.yaml';

const plainHead = `# Ledger Indexer on Kubernetes without Helm: one writer and one standby. docs/deploy/README.md says what to change.
# Rendered from the chart with docs/deploy/helm/plain.values.yaml: npm run docs:chart writes it.
`;

/** The chart as plain YAML. @throws Error with what helm says against it */
export function plainYaml(root: string): string {
  const { status, stdout, stderr } = helm(root, 'template', ['--values', 'docs/deploy/helm/plain.values.yaml']);
  if (status !== 0) throw new Error(`the chart cannot be rendered: ${stderr}`);
  return `${plainHead}${stdout}`;
}
