import { readFileSync } from 'node:fs'
import { type ContainerSpec, containerSpec, expectedSpec } from '@selvedge/protocol'
import type { Input } from '../../command.ts'
import { UsageError } from '../../failure.ts'

const asList = (value: Input['options'][string]): readonly string[] => (Array.isArray(value) ? value : [])

function readFile(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw new UsageError(
      `can't read ${path}: ${(cause as Error).message}`,
      'Give the path of a file that exists and that you may read.',
    )
  }
}

/** `KEY=value` lines; empty lines and lines that begin with # are ignored. */
function readPairs(lines: readonly string[], where: string): Record<string, string> {
  const env: Record<string, string> = {}
  for (const line of lines) {
    const at = line.indexOf('=')
    if (at < 1)
      throw new UsageError(
        `${where} is ${JSON.stringify(line)}; expected KEY=value`,
        'For example --env MCM.BASE_API_PATH=/hello/v1',
      )
    env[line.slice(0, at)] = line.slice(at + 1)
  }
  return env
}

/** What to deploy: the payload file first, then the env file, then the options; later ones win. */
export function readSpec({ payload, name, image, env, envFile }: Input['options']): ContainerSpec {
  let spec: { name?: string; image?: string; env?: Record<string, string> } = {}
  if (typeof payload === 'string') {
    try {
      spec = JSON.parse(readFile(payload))
    } catch (cause) {
      if (cause instanceof UsageError) throw cause
      throw new UsageError(`${payload} is not JSON: ${(cause as Error).message}`, `It holds ${expectedSpec}.`)
    }
  }
  const fromFile =
    typeof envFile === 'string'
      ? readFile(envFile)
          .split('\n')
          .map((line) => line.trim())
          .filter((line) => line !== '' && !line.startsWith('#'))
      : []
  const merged = {
    ...spec,
    ...(typeof name === 'string' && { name }),
    ...(typeof image === 'string' && { image }),
    env: { ...spec.env, ...readPairs(fromFile, '--env-file'), ...readPairs(asList(env), '--env') },
  }
  const read = containerSpec.safeParse(merged)
  if (read.success) return read.data
  const [issue] = read.error.issues
  throw new UsageError(
    `${issue?.path.join('.') || 'the container'}: ${issue?.message}`,
    `Give --name and --image, or --payload with ${expectedSpec}.`,
  )
}
