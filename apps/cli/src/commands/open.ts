import { command } from '../command.ts'
import { accessTokenOf, accessTokenOptions } from '../context/access-token.ts'
import type { Context } from '../context/context.ts'
import { findContainer } from '../context/find-service.ts'
import { consoleUrlOf, pageUrlOf } from '../context/page-url.ts'
import { UsageError } from '../failure.ts'
import { openPage } from '../output/browser.ts'

export const open = command({
  path: ['open'],
  summary:
    'Open the console, or the page of a service, in the browser of this desktop. Without a desktop, print its URL.',
  args: [{ name: '[service]', description: 'id or name of the container; default: the console' }],
  options: accessTokenOptions,
  run: async (context, { args: [service], options }) => {
    const url = service === undefined ? await consoleUrlOf(context) : await urlOf(context, service, options)
    return { url, opened: !options.json && openPage(url, context.terminal, context.env) }
  },
  human: ({ url }) => url,
})

async function urlOf(
  context: Context,
  service: string,
  options: Parameters<typeof accessTokenOf>[1],
): Promise<string> {
  const edgeAccessToken = await accessTokenOf(context, options, 'openid edge:mcm')
  const { basePath, env } = await findContainer(context, edgeAccessToken, service)
  const url = await pageUrlOf(context, `${basePath}/`)
  if (url === undefined)
    throw new UsageError(
      `the URL of ${service} is not known: the runtime was reached over its socket`,
      `Name the runtime with --url, or call the service without a browser: selvedge curl ${service}`,
    )
  if (env['MCM.ACCESS'] !== 'public')
    context.terminal.note(
      `A browser sends no token, and ${service} needs one (MCM.ACCESS is not "public"). To call it with your token: selvedge curl ${service}`,
    )
  return url
}
