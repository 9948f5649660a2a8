/** Streams are read as lines by `@selvedge/protocol/lines` only, which cannot lose what follows the last newline. */
import { describe, expect, it } from 'vitest'
import { nodesOf, parseSource, placeOf, readSources, type Source, type SyntaxNode } from './sources.ts'

/** Files that split text at line ends without it: whole texts, or a protocol that discards an incomplete message. */
const exceptions: Readonly<Record<string, string>> = {
  'apps/identity/src/api/console/discovery-stream.ts':
    'server-sent events: an incomplete one at the end is discarded (HTML § 9.2.6)',
  'apps/console/src/session/events.ts':
    'server-sent events: an incomplete one at the end is discarded (HTML § 9.2.6)',
  'apps/runtime/src/services/secrets/masks.ts': 'a whole value',
  'apps/runtime/src/services/gateway/response-head.ts': 'the whole head of a response',
  'apps/runtime/src/services/engines/oci/host-guard.ts': 'the whole output of a tool',
  'apps/runtime/src/device/metering/metered-link.ts': 'a whole file of the kernel',
  'apps/runtime/src/services/engines/oci/engine-traits.ts': 'a whole file of the kernel',
  'apps/runtime/src/services/engines/oci/private-mounts.ts': 'a whole file of the kernel',
  'apps/runtime/src/services/engines/oci/id-ranges.ts': 'a whole file',
  'apps/runtime/src/services/engines/function/platform/wasm.ts': 'the whole head of a response',
  'apps/runtime/src/services/engines/function/platform/sockets/tunnel.ts': 'the whole head of an answer',
  'apps/runtime/src/services/engines/function/platform/form.ts': 'the whole head of a part',
  'apps/runtime/src/services/engines/function/cgroup.ts': 'whole files of the kernel',
  'apps/console/src/views/account/company-rules.tsx': 'a whole field of a form',
  'apps/console/src/views/projects/add-issuer.tsx': 'a whole field of a form',
  'apps/runtime/src/services/engines/function/platform/http-request.ts': 'the whole head of a request',
  'apps/cli/src/program.ts': 'one message',
  'apps/cli/src/output/terminal.ts': 'an answer that a person types',
  'apps/cli/src/production/network.ts': 'a whole file',
  'apps/cli/src/production/installed-service.ts': 'a whole file',
  'apps/cli/src/production/fixes.ts': 'the whole output of a tool',
  'apps/cli/src/production/units.ts': 'the whole output of a tool',
  'apps/cli/src/support/mask.ts': 'one secret, and a whole log',
  'apps/cli/src/support/logs.ts': 'the whole output of a tool',
  'apps/cli/src/archive/bundler/bundle.ts': 'one message',
  'apps/cli/src/archive/component/transpile.ts': 'one message',
  'apps/cli/src/archive/bundler/problem.ts': 'a whole source file',
  'apps/cli/src/archive/bundler/answer.ts': 'one message',
  'apps/cli/src/commands/service/status.ts': 'the whole output of a tool',
  'apps/cli/src/commands/container/spec.ts': 'a whole file',
  'packages/client/src/node/network/certificate-faults.ts': 'a name of a certificate',
  'packages/client/src/node/network/answer-reader.ts': 'one whole head, in bounded memory',
  'packages/service-kit/src/log/error-id.ts': 'one stack',
  'packages/service-kit/src/log/pretty-line.ts': 'one stack',
}

const nameOf = (node: SyntaxNode | undefined) => (node as { name?: string } | undefined)?.name

/** A literal that is, or matches, a line end. */
function isLineEnd({ type, value, regex }: SyntaxNode): boolean {
  if (type !== 'Literal') return false
  const { pattern } = (regex ?? {}) as { pattern?: string }
  return pattern === undefined ? /^[\r\n]+$/.test(String(value)) : /\\[rn]/.test(pattern)
}

/** @returns `path:line` of each call that may read a stream as lines by its own means */
function findLineReaders(source: Source): string[] {
  return [...nodesOf(source.program)].flatMap(({ node }) => {
    if (node.type === 'NewExpression')
      return nameOf(node.callee as SyntaxNode) === 'StringDecoder' ? [placeOf(source, node)] : []
    if (node.type !== 'CallExpression') return []
    const callee = node.callee as SyntaxNode
    const [first] = node.arguments as readonly SyntaxNode[]
    const isSplit =
      nameOf(callee.property as SyntaxNode) === 'split' && first !== undefined && isLineEnd(first)
    return isSplit || nameOf(callee) === 'createInterface' ? [placeOf(source, node)] : []
  })
}

it('no file reads a stream as lines by its own means', () => {
  const found = readSources('packages', 'apps')
    .filter(({ path }) => !path.startsWith('packages/protocol/src/lines/'))
    .flatMap(findLineReaders)
  const fileOf = (place: string) => place.split(':')[0]!
  expect(found.filter((place) => !Object.hasOwn(exceptions, fileOf(place)))).toEqual([])
  const files = new Set(found.map(fileOf))
  expect(Object.keys(exceptions).filter((file) => !files.has(file))).toEqual([])
})

it('every file that splits lines itself gives the last one', () => {
  const users = readSources('packages', 'apps').filter(
    ({ path, text }) =>
      !path.startsWith('packages/protocol/src/lines/') && text.includes('createLineSplitter('),
  )
  expect(users.length).toBeGreaterThan(0)
  expect(users.filter(({ text }) => !text.includes('.end()')).map(({ path }) => path)).toEqual([])
})

describe('the rule', () => {
  it.each([
    "const lines = (rest + chunk).split('\\n')",
    'const lines = text.split(/\\r?\\n/)',
    'const lines = createInterface({ input })',
    "const decoder = new StringDecoder('utf8')",
  ])('finds %s', (code) => {
    expect(findLineReaders(parseSource('example.ts', code))).toHaveLength(1)
  })

  it.each(["text.split(',')", 'linesOf(stream, rules)'])('accepts %s', (code) => {
    expect(findLineReaders(parseSource('example.ts', code))).toEqual([])
  })
})
