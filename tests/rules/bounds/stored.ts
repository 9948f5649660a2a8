/**
 * Finds what is stored beyond the memory of a process (tables, documents, files and folders, keys of a cluster, objects of an
 * engine), and what a library collects: the body of an answer that is read whole, the lines of a stream.
 */
import { nodesOf, placeOf, type Source, type SyntaxNode } from '../sources.ts'
import { childOf, methodOf, nameOf, plain, scopeOf } from './bindings.ts'
import type { Growth } from './growth.ts'

/** Functions of `node:fs` that make files or folders. */
const writing =
  /^(?:mkdir|mkdtemp|writeFile|appendFile|copyFile|cp|link|symlink)(?:Sync)?$|^createWriteStream$/
/** Calls of the API of a container engine that make something which stays. */
const engineObject =
  /^\/(?:containers\/create|networks\/create|volumes\/create|images\/(?:load|create|tag)|images\/.*\/tag)/

/** Methods of an answer that read all of it, and the function that collects lines, however long one is. */
const readingWhole = /^(?:json|text|arrayBuffer|blob|formData)$/

const textOf = (node: SyntaxNode): string => {
  if (node.type === 'Literal') return typeof node.value === 'string' ? node.value : ''
  if (node.type !== 'TemplateLiteral') return ''
  return (node.quasis as { value: { cooked: string } }[]).map(({ value }) => value.cooked).join('*')
}

export function findStored(source: Source): Growth[] {
  const found: Growth[] = []
  const dropped = [...source.text.matchAll(/DROP TABLE (\w+)/g)].map(([, name]) => name)
  const flags = (call: SyntaxNode) => source.text.slice(call.start, call.end)
  for (const { node, ancestors } of nodesOf(source.program)) {
    const add = (name: string) => found.push({ name, place: placeOf(source, node) })
    for (const [, name] of textOf(node).matchAll(/CREATE TABLE (?:IF NOT EXISTS )?(\w+)/gi))
      if (!dropped.includes(name)) add(`table ${name}`)
    const [engine] = engineObject.exec(textOf(node)) ?? []
    if (engine !== undefined) add(`engine ${engine.replace(/^\/images\/.*/, '/images')}`)
    const title = node.type === 'VariableDeclarator' ? nameOf(childOf(node, 'id')) : ''
    if (/\/stores\/cluster\/keys\.ts$/.test(source.path) && /^\w+Key$/.test(title)) add(`keys ${title}`)
    if (node.type !== 'CallExpression') continue
    const method = methodOf(node)
    if (method === 'openDocument') {
      const [path] = node.arguments as SyntaxNode[]
      const names = path ? [...nodesOf(plain(path))].map((each) => textOf(each.node)).filter(Boolean) : []
      add(names.length > 0 ? `document ${names.join('/')}` : `document of ${scopeOf(ancestors).join('.')}`)
    }
    const isMethod = plain(childOf(node, 'callee')!).type === 'MemberExpression'
    if (isMethod && readingWhole.test(method) && (node.arguments as unknown[]).length === 0)
      add(`all that ${[...scopeOf(ancestors), `${method}()`].join('.')} reads`)
    if (method === 'createInterface') add(`lines that ${scopeOf(ancestors).join('.')} reads`)
    const isOpening = /^open(?:Sync)?$/.test(method) && /'(?:[wa]x?|r)\+'|'[wa]x?'|O_CREAT/.test(flags(node))
    if (writing.test(method) || isOpening) add(`files of ${scopeOf(ancestors).join('.')}`)
  }
  return found
}
