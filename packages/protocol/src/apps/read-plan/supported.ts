/** What no container of this runtime, or of this device, can have. */
import { containerCapabilities } from '../../mcm/settings.ts'
import type { AppService } from '../plan.ts'
import type { AppProblem, PlanContext } from './problems.ts'

export function checkSupported(
  { add, platform: own }: PlanContext,
  service: AppService,
  path: AppProblem['path'],
): void {
  const { name, platform, addCapabilities } = service
  if (platform !== null && own !== undefined && !isPlatform(platform, own))
    add(
      [...path, 'platform'],
      `${name}: the platform of the device is ${own}, not ${platform}`,
      'Leave it out: the device chooses the image of its own platform.',
    )
  const unknown = addCapabilities.find((each) => !containerCapabilities.some((known) => known === each))
  if (unknown !== undefined)
    add(
      [...path, 'addCapabilities'],
      `${name}: ${unknown} is not in the profile of containers`,
      `Possible are ${containerCapabilities.join(', ')}.`,
    )
}

/** Whether a platform is that of a device: `linux/arm64/v8` is `linux/arm64`. */
function isPlatform(wanted: string, own: string): boolean {
  const [system, processor] = wanted.split('/')
  return `${system}/${processor}` === own
}
