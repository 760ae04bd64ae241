/** The exports of a file of types, by name and by member. */
import { parseSync } from 'oxc-parser';
import { surfaceOf, type Surface } from './surface.ts';

type Pair = readonly [name: string, description: string];

/** A node of the syntax tree; which fields it has depends on its type. */
interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

/** @param specifier under which programs import the types, such as `ledger-indexer/read` */
export function librarySurface(specifier: string, text: string): Surface {
  const { program, comments, errors } = parseSync('types.ts', text);
  if (errors.length > 0) throw new Error(`${specifier}: ${errors[0]?.message ?? ''}`);
  let code = text;
  for (const { start, end } of comments) code = code.slice(0, start) + ' '.repeat(end - start) + code.slice(end);
  const reader = new ExportReader(code, specifier);
  for (const statement of program.body as unknown as readonly Node[]) {
    if (statement.type === 'ExportNamedDeclaration' && isNode(statement['declaration']))
      reader.read(statement['declaration']);
  }
  return surfaceOf(reader.pairs);
}

class ExportReader {
  readonly pairs: Pair[] = [];
  readonly #code: string;
  readonly #specifier: string;

  constructor(code: string, specifier: string) {
    this.#code = code;
    this.#specifier = specifier;
  }

  read(declaration: Node): void {
    if (declaration.type === 'VariableDeclaration') {
      for (const { id } of nodesOf(declaration['declarations'])) {
        const { name, typeAnnotation } = id as Node;
        this.#add(`${this.#specifier} ${String(name)}`, 'const', typeAnnotation as Node);
      }
      return;
    }
    const name = `${this.#specifier} ${String((declaration['id'] as Node)['name'])}`;
    if (/Function$|^FunctionDeclaration$/.test(declaration.type)) this.#readFunction(name, declaration);
    else if (declaration.type === 'TSTypeAliasDeclaration') this.#readAlias(name, declaration);
    else this.#readMembers(name, declaration);
  }

  #readFunction(name: string, declaration: Node): void {
    const parameters = nodesOf(declaration['params']);
    const required = parameters.filter((parameter) => !isOptional(parameter));
    const result = this.#typeText(name, declaration['returnType'] as Node);
    this.pairs.push([name, `function of ${String(required.length)} required parameters ${result}`]);
    for (const [index, parameter] of parameters.entries()) {
      const type = (parameter['typeAnnotation'] ?? (parameter['left'] as Node | undefined)?.['typeAnnotation']) as Node;
      this.#add(`${name} parameter ${String(index + 1)}`, isOptional(parameter) ? 'optional' : 'required', type);
    }
  }

  /** Each alternative of a union has its own name. */
  #readAlias(name: string, { typeAnnotation }: Node): void {
    const annotation = typeAnnotation as Node;
    this.pairs.push([name, 'type']);
    const alternatives = annotation.type === 'TSUnionType' ? nodesOf(annotation['types']) : [annotation];
    for (const alternative of alternatives)
      this.pairs.push([`${name} = ${this.#typeText(name, alternative)}`, 'accepted']);
  }

  #readMembers(name: string, declaration: Node): void {
    const heritage = [declaration['extends'], declaration['superClass'], declaration['implements']]
      .flat()
      .filter(isNode);
    const bases = heritage.map((base) => this.#text(base)).toSorted();
    const members = nodesOf((declaration['body'] as Node)['body']);
    // A program passes objects of these types, so a further required member is a change.
    const required = /(?:Options|Request|Command|Template|Format)$/.test(name)
      ? members.filter((member) => member['optional'] !== true).map((member) => this.#memberName(member))
      : [];
    const kind = declaration.type === 'ClassDeclaration' ? 'class' : 'interface';
    this.pairs.push([name, [kind, ...bases, ...required.map((member) => `requires ${member}`)].join(' ')]);
    for (const member of members) this.#readMember(name, member);
  }

  #readMember(owner: string, member: Node): void {
    if (member['accessibility'] === 'private' || (member['key'] as Node | undefined)?.type === 'PrivateIdentifier')
      return;
    const name = `${owner}.${this.#memberName(member)}`;
    const type = member['typeAnnotation'];
    if (member.type === 'TSMethodSignature') this.#readFunction(name, member);
    else if (!isNode(type)) this.pairs.push([name, this.#typeText(name, member)]);
    else this.#add(name, member['optional'] === true ? 'optional' : 'required', type);
  }

  #memberName(member: Node): string {
    const key = member['key'] as Node | undefined;
    return key === undefined || key === null ? member.type : this.#text(key);
  }

  #add(name: string, kind: string, type: Node): void {
    this.pairs.push([name, `${kind} ${this.#typeText(name, type)}`]);
  }

  /** The text of a type. Members of object types in it get their own names, so that others can be added. */
  #typeText(name: string, type: Node): string {
    const objects = outermostObjects(type);
    let text = '';
    let position = type.start;
    for (const object of objects) {
      text += `${this.#code.slice(position, object.start)}{}`;
      position = object.end;
      for (const member of nodesOf(object['members'])) this.#readMember(name, member);
    }
    return compact(text + this.#code.slice(position, type.end));
  }

  #text({ start, end }: Node): string {
    return compact(this.#code.slice(start, end));
  }
}

function compact(text: string): string {
  return text.replaceAll(/\s+/g, ' ').replace(/^: /, '').replace(/;$/, '').trim();
}

function isOptional(parameter: Node): boolean {
  return parameter['optional'] === true || parameter.type === 'AssignmentPattern' || parameter.type === 'RestElement';
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value;
}

function nodesOf(value: unknown): readonly Node[] {
  return Array.isArray(value) ? value.filter(isNode) : [];
}

/** Object types in a type that are not in another of them, in the order of the text. */
function outermostObjects(node: Node): readonly Node[] {
  if (node.type === 'TSTypeLiteral') return [node];
  const children = Object.values(node).flatMap((value) => (isNode(value) ? [value] : nodesOf(value)));
  return children.flatMap(outermostObjects).toSorted((left, right) => left.start - right.start);
}
