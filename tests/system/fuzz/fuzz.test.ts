/** The fuzzer itself, and three seconds of it on what it is for. */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { root } from '../../harness/processes.ts'
import { regressions } from './corpus/regressions.ts'
import { createRandom } from './engine/random.ts'
import { targets } from './targets/index.ts'

/** Every file that reads what others wrote: a target exercises each of them. */
const parsers = [
  'packages/service-kit/src/http/guard.ts',
  'packages/service-kit/src/http/address.ts',
  'packages/protocol/src/jsonrpc/json.ts',
  'packages/protocol/src/jsonrpc/dispatcher.ts',
  'packages/protocol/src/methods/read-params.ts',
  'packages/protocol/src/mcm/settings.ts',
  'packages/protocol/src/http/read-fixes.ts',
  'packages/protocol/src/tokens/jws.ts',
  'packages/protocol/src/tokens/profiles.ts',
  'packages/protocol/src/tokens/authorization.ts',
  'packages/protocol/src/tokens/hmac-code.ts',
  'packages/protocol/src/tokens/checks/proof.ts',
  'packages/service-kit/src/tokens/dpop.ts',
  'packages/service-kit/src/tokens/session.ts',
  'packages/service-kit/src/tokens/sealed-bytes.ts',
  'packages/service-kit/src/store/document.ts',
  'packages/service-kit/src/store/slot.ts',
  'packages/geo/src/receivers/nmea.ts',
  'packages/geo/src/receivers/gpsd.ts',
  'apps/identity/src/registry/projects/app-addresses.ts',
  'apps/identity/src/tokens/authorize/parameters.ts',
  'apps/runtime/src/services/gateway/path.ts',
  'apps/runtime/src/services/gateway/headers.ts',
  'apps/runtime/src/services/gateway/response-reader.ts',
  'apps/runtime/src/services/gateway/frame-walker.ts',
  'apps/runtime/src/location/link-local/dns.ts',
  'apps/runtime/src/services/engines/oci/outbound/dns-message.ts',
  'packages/protocol/src/mcm/outbound.ts',
  'packages/protocol/src/mcm/ports.ts',
  'packages/protocol/src/mcm/cron.ts',
  'apps/runtime/src/location/link-local/announcement.ts',
  'apps/runtime/src/services/images/tar-stream.ts',
  'apps/runtime/src/services/images/zstd-frames.ts',
  'apps/runtime/src/services/images/archive.ts',
  'apps/runtime/src/services/images/layer.ts',
  'apps/runtime/src/services/images/manifest.ts',
  'apps/runtime/src/services/images/registry/reference.ts',
  'apps/runtime/src/api/mcm/receive-image.ts',
  'apps/runtime/src/services/engines/oci/log-frames.ts',
  'apps/runtime/src/services/engines/function/frames.ts',
  'apps/runtime/src/services/engines/function/control-line.ts',
  'apps/runtime/src/services/engines/function/platform/form.ts',
  'apps/runtime/src/services/engines/function/platform/jx-parse.ts',
  'apps/runtime/src/services/containers/storage.ts',
  'apps/cli/src/output/clean.ts',
  'packages/protocol/src/tokens/jwk.ts',
  'packages/service-kit/src/tokens/foreign-keys.ts',
  'packages/service-kit/src/tokens/key-cache.ts',
  'packages/service-kit/src/http/certificate.ts',
  'apps/identity/src/api/console/discovery-stream.ts',
  'packages/service-kit/src/oauth/form.ts',
  'apps/identity/src/api/console/cookie.ts',
]

const fuzz = (...args: string[]) => {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--conditions=source', join(root, 'tests/system/fuzz/run.ts'), ...args],
    { encoding: 'utf8' },
  )
  return { status, text: stdout + stderr }
}

describe('the table of targets', () => {
  it('names each target once, and the sources that it exercises exist', () => {
    expect(new Set(targets.map(({ name }) => name)).size).toBe(targets.length)
    for (const each of targets) {
      expect(each.covers.length, each.name).toBeGreaterThan(0)
      for (const path of each.covers) expect(existsSync(join(root, path)), path).toBe(true)
    }
  })

  it('has every file of targets/', () => {
    const table = readFileSync(join(root, 'tests/system/fuzz/targets/index.ts'), 'utf8')
    const shared = ['index.ts', 'keys.ts', 'chunks.ts', 'turns.ts']
    const files = readdirSync(join(root, 'tests/system/fuzz/targets')).filter(
      (each) => !shared.includes(each),
    )
    expect(files.filter((each) => !table.includes(`'./${each}'`))).toEqual([])
  })

  it.each(parsers)('exercises %s', (path) => {
    expect(targets.flatMap(({ covers }) => covers)).toContain(path)
  })

  it('has the target of every input that was a finding once', () => {
    const names = targets.map(({ name }) => name)
    expect(Object.keys(regressions).filter((each) => !names.includes(each))).toEqual([])
  })
})

it('no parser fails on inputs of a fixed seed', () => {
  expect(fuzz('3', '--seed', '1')).toMatchObject({ status: 0, text: expect.stringContaining('no findings') })
})

describe('the fuzzer', () => {
  const broken = (seconds: string, target: string, ...more: string[]) =>
    fuzz(seconds, '--seed', '1', '--table', 'engine/broken-targets.ts', '--target', target, ...more)
  const kinds = {
    throws: 'crash',
    rejects: 'rejection',
    quadratic: 'cost',
    hoards: 'growth',
    buffers: 'growth',
  }
  let found: ReturnType<typeof fuzz>
  beforeAll(() => {
    found = broken('6', ['sound', ...Object.keys(kinds)].join())
  })

  it.each(Object.entries(kinds))('finds that a parser %s', (target, kind) => {
    expect(found.text).toContain(`FINDING ${target} (${kind}), seed 1: `)
    expect(found.status).toBe(1)
  })

  it('reports nothing of a sound parser', () => expect(found.text).not.toContain('FINDING sound'))

  it('names an input that never ends, and goes on with the next target', () => {
    const { status, text } = broken('2', 'endless,throws', '--hang', '4')
    expect(text).toContain('FINDING endless (hang), seed 1: ')
    expect(text).toContain('FINDING throws (crash), seed 1: ')
    expect(status).toBe(1)
  })

  it('prints how to repeat a finding, and repeats it', () => {
    const [, input = ''] = /--target throws --input '([^']+)'/.exec(found.text) ?? []
    expect(Buffer.from(input, 'base64').toString('latin1')).toBe('key\0')
    expect(broken('2', 'throws', '--input', input).text).toContain('FINDING throws (crash)')
  })

  it('makes the same inputs of the same seed', () => {
    const numbers = (seed: string) => createRandom(seed).bytes(32).toString('hex')
    expect(numbers('a')).toBe(numbers('a'))
    expect(numbers('a')).not.toBe(numbers('b'))
  })
})
