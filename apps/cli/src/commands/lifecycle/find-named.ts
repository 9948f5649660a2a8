/** What a name on the command line means: an app, or a container. */
import type { AppRecord, ContainerRecord } from '@selvedge/protocol'
import type { Context } from '../../context/context.ts'
import { noContainer } from '../../context/service-access.ts'
import { UsageError } from '../../failure.ts'

type Named =
  | { readonly app: AppRecord; readonly container?: never }
  | { readonly container: ContainerRecord; readonly app?: never }

/**
 * @param name ID or name
 * @throws UsageError for a name that nothing has, or both an app and a container
 */
export async function findNamed(
  { runtime }: Pick<Context, 'runtime'>,
  edgeAccessToken: string,
  name: string,
): Promise<Named> {
  const [apps, containers] = await Promise.all([
    runtime.getApps({ edgeAccessToken }),
    runtime.getContainers({ edgeAccessToken }),
  ])
  const app = findIn(apps, name)
  const container = findIn(containers, name)
  if (app && container)
    throw new UsageError(
      `${JSON.stringify(name)} is the name of an app, and of a container`,
      'Use the commands of one of them: "selvedge app --help" and "selvedge container --help" list them.',
    )
  if (app) return { app }
  if (container) return { container }
  throw noContainer(name, edgeAccessToken, 'container or app')
}

const findIn = <T extends { readonly id: string; readonly name: string }>(
  all: readonly T[],
  name: string,
): T | undefined => all.find((each) => each.id === name) ?? all.find((each) => each.name === name)
