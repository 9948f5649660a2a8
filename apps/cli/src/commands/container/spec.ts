import { type ContainerSpec, containerSpec, expectedSpec } from '@selvedge/protocol'
import type { Input } from '../../command.ts'
import { readInputFile } from '../../context/input-file.ts'
import { UsageError } from '../../failure.ts'

const asList = (value: Input['options'][string]): readonly string[] => (Array.isArray(value) ? value : [])

/** Bytes of a file with settings: more than a valid one can have. */
const maxFileBytes = 1_048_576

const readFile = (path: string): string =>
  readInputFile(path, maxFileBytes, 'Give the path of a file that exists and that you may read.')

function readPayload(path: string): { name?: string; image?: string; env?: Record<string, string> } {
  const hint = `It holds ${expectedSpec}.`
  let content: unknown
  try {
    content = JSON.parse(readFile(path))
  } catch (cause) {
    if (cause instanceof UsageError) throw cause
    throw new UsageError(`${path} is not JSON: ${(cause as Error).message}`, hint)
  }
  if (isObject(content) && (content.env === undefined || isObject(content.env))) return content
  throw new UsageError(`${path} holds no container, or its "env" is no object`, hint)
}

const isObject = (value: unknown): value is Record<string, never> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** `KEY=value` lines; empty lines and lines that begin with # are ignored. */
function readPairs(lines: readonly string[], where: string): Record<string, string> {
  const env: Record<string, string> = {}
  for (const line of lines) {
    const at = line.indexOf('=')
    if (at < 1)
      throw new UsageError(
        `${where} is ${JSON.stringify(line.slice(0, 80))}, not KEY=value`,
        'For example GREETING=hello, or MCM.BASE_API_PATH=/hello/v1 for a setting of the runtime',
      )
    env[line.slice(0, at)] = line.slice(at + 1)
  }
  return env
}

/** What to deploy: the payload file first, then the env file, then the options; later ones win. */
export function readSpec({ payload, name, image, env, envFile }: Input['options']): ContainerSpec {
  let spec: { name?: string; image?: string; env?: Record<string, string> } = {}
  if (typeof payload === 'string') spec = readPayload(payload)
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
    env: { ...spec.env, ...readPairs(fromFile, `a line of ${envFile}`), ...readPairs(asList(env), '--env') },
  }
  const read = containerSpec.safeParse(merged)
  if (read.success) return read.data
  const [problem, hint] = problemOf(merged)
  throw new UsageError(problem, hint)
}

/** The first member that a container cannot have, in words: those of the schema are for programmers. */
function problemOf(spec: object): readonly [problem: string, hint: string] {
  const { name, image, env, ...more } = spec as Record<string, unknown>
  const [unknown] = Object.keys(more)
  const isValid = (key: 'name' | 'image', value: unknown) => containerSpec.shape[key].safeParse(value).success
  if (unknown !== undefined)
    return [`there is no member ${shown(unknown)} in a container`, `The payload holds ${expectedSpec}.`]
  if (name === undefined)
    return ['the container has no name: --name is missing', 'Give --name and --image, or --payload.']
  if (image === undefined)
    return [
      'the container has no image: --image is missing',
      'Give the name of an image of "selvedge image list". A folder is deployed with: selvedge deploy <folder>',
    ]
  if (!isValid('name', name))
    return [
      `a container cannot have the name ${shown(name)}`,
      'Use 1 to 63 letters, digits and . _ -, such as --name hello',
    ]
  if (!isValid('image', image))
    return [`an image cannot have the name ${shown(image)}`, 'Give a name of "selvedge image list".']
  return problemOfEnv(Object(env))
}

function problemOfEnv(env: object): readonly [problem: string, hint: string] {
  for (const [key, value] of Object.entries(env)) {
    if (!/^[A-Za-z_][A-Za-z0-9_.-]*$/.test(key))
      return [
        `a variable cannot have the name ${shown(key)}`,
        'Begin with a letter or _, such as API_KEY=value',
      ]
    if (typeof value !== 'string')
      return [`the variable ${key} is ${shown(value)}, not a string`, `Write it as "${key}": "…"`]
  }
  return ['the variables of the container are too many or too long', `It accepts ${expectedSpec}.`]
}

const shown = (value: unknown): string => (JSON.stringify(value) ?? String(value)).slice(0, 80)
