/**
 * Schemas of Kubernetes objects that reject unknown fields. They come from the PyPI package kubernetes-validate, in the
 * folder that KUBERNETES_SCHEMAS names: `pip download --no-deps kubernetes-validate==1.37.0`.
 */
import { readFileSync } from 'node:fs';
import type { ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { unzipSync } from 'fflate';

const file = process.env['KUBERNETES_SCHEMAS'];

export const kubernetesSkipReason =
  file === undefined || file === ''
    ? 'needs the schemas of Kubernetes (pip download --no-deps kubernetes-validate==1.37.0; KUBERNETES_SCHEMAS names the wheel)'
    : undefined;

interface Definitions {
  readonly $defs: Readonly<Record<string, { readonly 'x-kubernetes-group-version-kind'?: readonly Kind[] }>>;
}
interface Kind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
}

/** The schemas of one release of Kubernetes, such as `1.37`. */
export class KubernetesRelease {
  readonly #definitions: Definitions;
  readonly #ajv: Ajv2020;
  readonly #compiled = new Map<string, ValidateFunction>();

  constructor(release: string) {
    const path = `kubernetes_validate/kubernetes-json-schema/v${release}.0-local-strict/_definitions.json`;
    const entries = unzipSync(readFileSync(file ?? ''), { filter: ({ name }) => name === path });
    const text = entries[path];
    if (text === undefined) throw new Error(`${String(file)} has no schemas of Kubernetes ${release}`);
    this.#definitions = JSON.parse(new TextDecoder().decode(text)) as Definitions;
    this.#ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });
    this.#ajv.addSchema(this.#definitions, 'all');
  }

  /** Reasons why Kubernetes would reject the object; empty if there are none. */
  problemsOf(object: KubernetesObject): readonly string[] {
    const check = this.#checkOf(object);
    if (check === undefined) return [`there is no ${object.kind} in ${object.apiVersion}`];
    const { kind } = object;
    if (check(object)) return [];
    return (check.errors ?? []).map(({ instancePath, message = '', params }) =>
      `${kind}${instancePath} ${message} ${JSON.stringify(params)}`.trim(),
    );
  }

  #checkOf({ apiVersion, kind }: KubernetesObject): ValidateFunction | undefined {
    const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
    const name = Object.entries(this.#definitions.$defs).find(([, definition]) =>
      definition['x-kubernetes-group-version-kind']?.some(
        (schema) => schema.group === group && schema.version === version && schema.kind === kind,
      ),
    )?.[0];
    if (name === undefined) return undefined;
    const compiledSchema = this.#compiled.get(name) ?? this.#ajv.compile({ $ref: `all#/$defs/${name}` });
    this.#compiled.set(name, compiledSchema);
    return compiledSchema;
  }
}
