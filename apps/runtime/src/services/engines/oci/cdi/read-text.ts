/**
 * Reads a text in JSON or YAML, as far as files of the Container Device Interface use it: one document with the core tags and aliases. Scalars of YAML
 * are texts, as the readers in Go have them where a text is expected: `name: 0` is a name. What is null is absent.
 */
import type { Document, Node } from 'yaml'

type Yaml = typeof import('./yaml.lazy.ts')

/** Characters of a text in YAML, its values with all aliases, and lists and mappings in each other. */
const most = { characters: 128 * 1024, values: 20_000, depth: 32 }

/** @throws Error with what is wrong */
export async function readText(text: string): Promise<unknown> {
  try {
    return JSON.parse(text, (_, value: unknown) => value ?? undefined)
  } catch {
    return readYaml(await import('./yaml.lazy.ts'), text)
  }
}

function readYaml(yaml: Yaml, text: string): unknown {
  if (text.length > most.characters)
    throw new Error(`it has ${text.length} characters; the limit for YAML is ${most.characters}`)
  const lines = new yaml.LineCounter()
  const document = parse(yaml, text, lines)
  const [error] = document.errors
  if (!error) return readValue(document.contents, 0, { yaml, anchors: new Map(), values: 0 }).value
  if (error.code === 'RESOURCE_EXHAUSTION') throw tooDeep()
  const { line } = lines.linePos(error.pos[0])
  throw new Error(`it is neither JSON nor YAML: ${error.message} (line ${line})`)
}

function parse(
  { parseDocument }: Yaml,
  text: string,
  lineCounter: InstanceType<Yaml['LineCounter']>,
): Document {
  try {
    // The parser would compare each key with each other one, and leave out a second document without an error.
    const fixed = { uniqueKeys: false, prettyErrors: false, logLevel: 'error' } as const
    return parseDocument(text, { ...fixed, lineCounter, schema: 'failsafe', customTags: ['null'] })
  } catch (cause) {
    if (cause instanceof RangeError) throw tooDeep()
    throw cause
  }
}

const tooDeep = () => new Error(`more than ${most.depth} lists and mappings are in each other`)

/** A value, and how many values it has with all its aliases. */
interface Sized {
  readonly value: unknown
  readonly size: number
}

interface Reading {
  readonly yaml: Yaml
  /** Undefined while the value is read. */
  readonly anchors: Map<string, Sized | undefined>
  values: number
}

function readValue(node: unknown, depth: number, reading: Reading): Sized {
  const { yaml, anchors } = reading
  if (depth > most.depth) throw tooDeep()
  if (yaml.isAlias(node)) {
    const found = anchors.get(node.source)
    if (!found) throw new Error(`the alias *${node.source.slice(0, 40)} has no anchor before it`)
    count(found.size, reading)
    return found
  }
  count(1, reading)
  const { anchor } = Object(node) as { readonly anchor?: string }
  if (anchor !== undefined) anchors.set(anchor, undefined)
  const found = readContent(node as Node | null, depth, reading)
  if (anchor !== undefined) anchors.set(anchor, found)
  return found
}

function count(size: number, reading: Reading): void {
  reading.values += size
  if (reading.values > most.values)
    throw new Error(`it has more than ${most.values} values, aliases included`)
}

function readContent(node: Node | null, depth: number, reading: Reading): Sized {
  const { yaml } = reading
  if (yaml.isSeq(node)) {
    const items = node.items.map((each) => readValue(each, depth + 1, reading))
    return { value: items.map(({ value }) => value), size: sizeOf(items) }
  }
  if (!yaml.isMap(node))
    return { value: yaml.isScalar(node) ? (node.value ?? undefined) : undefined, size: 1 }
  const members = new Map<string, Sized>()
  for (const { key, value } of node.items) {
    const name = yaml.isScalar(key) && typeof key.value === 'string' ? key.value : '<<'
    if (name === '<<') throw new Error('a key is no text, or is <<, which is not supported')
    if (members.has(name)) throw new Error(`${JSON.stringify(name.slice(0, 40))} is there twice`)
    members.set(name, readValue(value, depth + 1, reading))
  }
  const present = [...members].flatMap(([name, { value }]) =>
    value === undefined ? [] : [[name, value] as const],
  )
  return { value: Object.fromEntries(present), size: sizeOf([...members.values()]) }
}

const sizeOf = (parts: readonly Sized[]): number => parts.reduce((sum, { size }) => sum + size, 1)
