/** Builds a folder and deploys it, with one access token for as long as it is valid. */
import { resolve } from 'node:path'
import { uploadImage } from '@selvedge/client/node'
import { type Built, buildFolder } from '../archive/build.ts'
import type { Builder } from '../archive/bundler/builder.ts'
import type { Input } from '../command.ts'
import { readSpec } from '../commands/container/spec.ts'
import { accessTokenOf } from '../context/access-token.ts'
import type { Context } from '../context/context.ts'
import { pageUrlOf } from '../context/page-url.ts'
import { describeFailure, exitCodes } from '../failure.ts'

export interface Deployed {
  readonly id: string
  readonly kind: string
  readonly url: string
  /** Real paths of the modules that were bundled. */
  readonly modules: readonly string[]
  readonly buildMs: number
  readonly deployMs: number
}

export interface Tokens {
  /** Calls with an access token; once more with a new one if the first is refused. */
  use<T>(call: (edgeAccessToken: string) => Promise<T>): Promise<T>
}

export function createTokens(context: Context, options: Input['options']): Tokens {
  let current: string | undefined
  return {
    async use(call) {
      const known = current
      current ??= await accessTokenOf(context, options, 'openid edge:mcm')
      try {
        return await call(current)
      } catch (cause) {
        if (describeFailure(cause).code !== exitCodes.notAuthorised) throw cause
        current = undefined
        if (known === undefined) throw cause
      }
      current = await accessTokenOf(context, options, 'openid edge:mcm')
      return call(current)
    },
  }
}

/** @throws what the build, the upload and the deployment throw */
export async function deployFolder(
  context: Context,
  tokens: Tokens,
  builder: Builder,
  { folder, name, options }: { folder: string; name: string; options: Input['options'] },
): Promise<Deployed> {
  const started = performance.now()
  const built = await buildFolder(folder, context.terminal, builder)
  const buildMs = performance.now() - started
  try {
    const { id, kind, basePath } = await tokens.use((token) =>
      send(context, token, built, { ...options, name }),
    )
    const deployMs = performance.now() - started - buildMs
    const modules = built.modules.map((each) => resolve(each))
    return { id, kind, url: await urlOf(context, basePath), modules, buildMs, deployMs }
  } finally {
    built.remove()
  }
}

async function send(context: Context, edgeAccessToken: string, built: Built, options: Input['options']) {
  const image = await uploadImage(await context.streams(edgeAccessToken), built.path)
  return context.runtime.deployContainer({ edgeAccessToken, spec: readSpec({ ...options, image: image.id }) })
}

/** For people: the URL of a service, or its path and the name of the device if no program here reaches it by URL. */
const urlOf = async (context: Context, basePath: string): Promise<string> =>
  (await pageUrlOf(context, basePath)) ?? `${basePath} (${(await context.runtime.getMe()).name})`
