/** A stack with an associated runtime that deploys services for a developer. */
import { request as httpRequest } from 'node:http'
import type { RuntimeClient } from '@selvedge/client'
import type { ContainerRecord } from '@selvedge/protocol'
import { functionImage, writeFile } from './archives.ts'
import { accessToken, createDeveloper, type Developer, runtimeOf } from './flow.ts'
import { type Stack, type StartPlace, startProgram, startStack } from './processes.ts'

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}

export interface CallInit {
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly body?: string | Buffer
  readonly token?: string | null
}

export interface Services {
  readonly stack: Stack
  readonly developer: Developer
  readonly token: string
  runtime(): RuntimeClient
  url(): string
  /** Process id of the runtime as it was last started. */
  runtimePid(): number
  /** What the runtime wrote on standard error since it was last started. */
  runtimeErrors(): string
  /** Calls a path of the runtime's listener with the developer's access token. */
  call(path: string, init?: CallInit): Promise<Answer>
  /** Deploys a function image and a container of it, under its own name. */
  deploy(
    name: string,
    source: string | Buffer,
    env?: Record<string, string>,
    file?: string,
  ): Promise<ContainerRecord>
  deployImage(archive: Buffer): ReturnType<RuntimeClient['deployImage']>
  /** Kills the runtime and starts it again on the same state and port. @param args in place of its own */
  restart(signal?: NodeJS.Signals, env?: Record<string, string>, args?: readonly string[]): Promise<void>
  /** Stops the runtime alone; `restart` starts it again. */
  stopRuntime(signal?: NodeJS.Signals): Promise<void>
  stop(): Promise<void>
}

export async function startServices(
  options: {
    args?: readonly string[]
    identity?: readonly string[]
    discovery?: readonly string[]
    env?: Record<string, string>
    envOf?: NonNullable<Parameters<typeof startStack>[0]>['envOf']
    /** Of the runtime. */
    place?: StartPlace
  } = {},
): Promise<Services> {
  const { args = [], identity = [], discovery = [], env = {}, envOf = {}, place = {} } = options
  const stack = await startStack({ runtime: args, identity, discovery, env, envOf, place })
  const developer = await createDeveloper(stack.state)
  const token = await accessToken(stack, developer)
  let { runtime: program } = stack
  const { url } = program
  const runtime = () => runtimeOf({ runtime: program })
  await runtime().associateAccount({ edgeAccessToken: token })
  const { SELVEDGE_STATE: state = stack.state } = envOf.runtime ?? {}
  let files = 0

  const services: Services = {
    stack,
    developer,
    token,
    runtime,
    url: () => url,
    runtimePid: () => program.process.pid!,
    runtimeErrors: () => program.errors(),
    call: (path, init) => callUrl(url + path, { token, ...init }),
    async deployImage(archive) {
      const source = writeFile(`${state}/archives`, `${++files}.tar`, archive)
      return runtime().deployImage({ edgeAccessToken: token, source })
    },
    async deploy(name, source, env = {}, file = 'index.js') {
      const { id: image } = await services.deployImage(functionImage(source, name, file))
      return runtime().deployContainer({ edgeAccessToken: token, spec: { name, image, env } })
    },
    async restart(signal = 'SIGTERM', env = {}, args = options.args) {
      await program.stop(signal)
      program = await startProgram(
        'runtime',
        {
          SELVEDGE_STATE: stack.state,
          SELVEDGE_RUNTIME_PORT: new URL(url).port,
          SELVEDGE_IDENTITY_URL: stack.identity.url,
          SELVEDGE_DISCOVERY_URL: stack.discovery.url,
          ...options.env,
          ...envOf.runtime,
          ...env,
        },
        args,
        place,
      )
    },
    stopRuntime: (signal) => program.stop(signal),
    async stop() {
      await program.stop()
      await stack.stop()
    },
  }
  return services
}

/** One request on a connection of its own, with exactly the headers that are given. */
export function callUrl(
  url: string,
  { method = 'GET', headers = {}, body, token }: CallInit,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = httpRequest(
      url,
      { method, agent: false, headers: { ...(token && { Authorization: `Bearer ${token}` }), ...headers } },
      (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (chunk) => {
          text += chunk
        })
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
        )
        response.on('error', reject)
      },
    )
    asked.on('error', reject)
    asked.end(body)
  })
}
