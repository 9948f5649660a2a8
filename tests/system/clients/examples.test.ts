/** The examples of the published libraries, in their READMEs and above their exports: they compile, and run against a stack. */
import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { accessToken, createDeveloper, runtimeOf } from '../../harness/flow.ts'
import { root, type Stack, startStack } from '../../harness/processes.ts'

interface Example {
  /** Where it is: the file, and its number there. */
  readonly name: string
  readonly code: string
}

/** Main exports: each has an example above its declaration. */
const exported = [
  'packages/client/src/runtime.ts createRuntimeClient',
  'packages/client/src/identity.ts createIdentityClient',
  'packages/client/src/discovery.ts createDiscoveryClient',
  'packages/client/src/rpc.ts createRpcClient',
  'packages/client/src/rpc.ts callRpc',
  'packages/client/src/errors.ts isSelvedgeError',
  'packages/client/src/backend/verifier.ts createAccessTokenVerifier',
  'packages/client/src/node/node-fetch.ts createNodeFetch',
  'packages/client/src/node/upload-image.ts uploadImage',
  'packages/client/src/node/streams.ts followLogs',
  'packages/protocol/src/errors/rpc-error.ts RpcError',
  'packages/protocol/src/openrpc.ts openRpcDocument',
  'packages/protocol/src/jsonrpc/dispatcher.ts createDispatcher',
  'packages/protocol/src/jsonrpc/json.ts parseJson',
  'packages/protocol/src/tokens/open-token.ts openToken',
  'packages/protocol/src/redaction/secrets.ts redactText',
  'packages/protocol/src/methods/gps.ts readGpsSignal',
]

/** They need an image file and a container; `tests/system/services` covers what they call. */
const compiledOnly = new Set(['uploadImage', 'followLogs'])

const read = (path: string): string => readFileSync(join(root, path), 'utf8')

const fromReadme = (path: string): Example[] =>
  [...read(path).matchAll(/^```ts\n([\s\S]*?)^```/gm)].map(([, code], index) => ({
    name: `${path} ${index + 1}`,
    code: code!,
  }))

/** The example of the comment above `export … name`. */
function aboveExport(entry: string): Example {
  const [path = '', name = ''] = entry.split(' ')
  const text = read(path)
  const declared = text.search(new RegExp(`^export (?:async )?(?:const|function|class) ${name}\\b`, 'm'))
  const comment = text.slice(text.lastIndexOf('/**', declared), declared)
  const code = /@example\n \* ```ts\n([\s\S]*?)\n \* ```/.exec(comment)?.[1] ?? ''
  return { name: entry, code: code.replace(/^ \* ?/gm, '') }
}

const examples = [
  ...fromReadme('packages/client/README.md'),
  ...fromReadme('packages/protocol/README.md'),
  ...exported.map(aboveExport),
]

let stack: Stack
let env: NodeJS.ProcessEnv
/** In the clone, so that the libraries are found by their names. */
const folder = mkdtempSync(join(root, 'tests/system/clients/examples-'))
const fileOf = (index: number): string => join(folder, `example-${index}.ts`)

beforeAll(async () => {
  stack = await startStack()
  const developer = await createDeveloper(stack.state)
  const token = await accessToken(stack, developer)
  await runtimeOf(stack).associateAccount({ edgeAccessToken: token })
  env = {
    PATH: process.env.PATH,
    ACCESS_TOKEN: token,
    CLIENT_ID: developer.clientId,
    DEVELOPER_ID_TOKEN: developer.idToken,
    NODE_ID: (await runtimeOf(stack).getMe()).nodeId,
    SELVEDGE_STATE: stack.state,
  }
  for (const [index, { code }] of examples.entries()) {
    const own = code
      .replaceAll('http://127.0.0.1:8083', stack.runtime.url)
      .replaceAll('http://localhost:8084', stack.identity.url)
      .replaceAll('http://localhost:8085', stack.discovery.url)
    writeFileSync(fileOf(index), `${own}\nexport {}\n`)
  }
})
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await stack.stop()
})

describe('the examples of the libraries', () => {
  it('exist for every main export and in both READMEs', () => {
    expect(examples.filter(({ code }) => code === '')).toEqual([])
    expect(examples.filter(({ name }) => name.includes('README')).length).toBeGreaterThan(7)
  })

  it('compile in a strict program', () => {
    const options = {
      types: ['node'],
      typeRoots: [join(root, 'node_modules/@types')],
      lib: ['es2024', 'dom'],
    }
    const files = readdirSync(folder).filter((name) => name.endsWith('.ts'))
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ extends: '../../../../tsconfig.base.json', compilerOptions: options, files }),
    )
    const tsc = join(root, 'node_modules/typescript/bin/tsc')
    const compile = () =>
      execFileSync(process.execPath, [tsc, '-p', folder], { encoding: 'utf8', stdio: 'pipe' })
    expect(compile).not.toThrow()
  })

  const runnable = examples
    .map(({ name }, index) => ({ name, index }))
    .filter(({ name }) => !compiledOnly.has(name.split(' ')[1]!))

  it.each(runnable)('$name runs, and prints something', async ({ index }) => {
    const { stdout } = await promisify(execFile)(process.execPath, ['--conditions=source', fileOf(index)], {
      env,
    })
    expect(stdout.trim()).not.toBe('')
  })
})
