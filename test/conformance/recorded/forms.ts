/**
 * The forms of messages in streams: for each update, event and entry, its keys in order, with the kind of each value,
 * including null. Daml values and views are not compared, because they belong to the templates.
 */
const payloadFields = new Set(['createArgument', 'contractKey', 'choiceArgument', 'exerciseResult', 'interfaceViews']);
const partNames = new Set(['events', 'contractEntry', 'createdEvent', 'unassignedEvent', 'assignedEvent']);

type Fields = Readonly<Record<string, unknown>>;

function kindOf(key: string, value: unknown): unknown {
  if (payloadFields.has(key) || partNames.has(key)) return 'something';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'list';
  return typeof value === 'object' ? formOf(value as Fields) : typeof value;
}

function formOf(fields: Fields): readonly unknown[] {
  return Object.entries(fields).map(([key, value]) => [key, kindOf(key, value)]);
}

/** Adds the form of an object, and of every object of the interface inside it. */
function collect(fields: Fields, forms: Set<string>): void {
  forms.add(JSON.stringify(formOf(fields)));
  for (const [key, value] of Object.entries(fields)) {
    const children = Array.isArray(value) ? value : [value];
    if (payloadFields.has(key)) continue;
    for (const child of children) if (typeof child === 'object' && child !== null) collect(child as Fields, forms);
  }
}

/** The forms that occur in the frames. */
export function formsIn(frames: readonly string[]): ReadonlySet<string> {
  const forms = new Set<string>();
  for (const frame of frames) collect(JSON.parse(frame) as Fields, forms);
  return forms;
}
