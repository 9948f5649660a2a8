import { existsSync, readFileSync } from 'node:fs'

/** Why there are no control groups here, and how to get them. @param root where the kernel shows them; for tests */
export function cgroupHint(root = '/sys/fs/cgroup'): string {
  const without =
    'No control groups, so memory, processor and processes of functions are not limited by the kernel'
  const kernel = (option: string) =>
    `${without}: add ${option} to the command line of the kernel (GRUB_CMDLINE_LINUX in /etc/default/grub, then sudo update-grub; on a Raspberry Pi /boot/firmware/cmdline.txt), and restart the machine.`
  const controllers = `${root}/cgroup.controllers`
  if (!existsSync(controllers)) return kernel('systemd.unified_cgroup_hierarchy=1')
  if (!readFileSync(controllers, 'utf8').split(/\s+/).includes('memory'))
    return kernel('cgroup_enable=memory')
  return `${without}: run the runtime as a service with Delegate=cpu memory pids in its unit, as the packages do, or as root.`
}
