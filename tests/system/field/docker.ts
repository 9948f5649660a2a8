/** A Docker of the campaign's own, from the packages of Debian: nothing is installed, and it has no network. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { stepLimitMs } from '../../harness/limits.ts'
import { mountsBelow } from '../../harness/podman.ts'
import { cache, downloadPackages, unpackPackages } from './debian-packages.ts'

export interface Docker {
  /** Runs the command line. @returns what it printed */
  run(args: readonly string[], input?: Buffer): string
  stop(): Promise<void>
}

/** @returns the folder of the programs, unpacked once */
function unpack(): string {
  const unpacked = join(cache, 'docker')
  if (existsSync(unpacked)) return unpacked
  const files = downloadPackages(['docker.io']).filter((each) => /\/(?:docker\.io|containerd)_/.test(each))
  rmSync(`${unpacked}.new`, { recursive: true, force: true })
  mkdirSync(`${unpacked}.new`)
  unpackPackages(files, `${unpacked}.new`)
  renameSync(`${unpacked}.new`, unpacked)
  return unpacked
}

/** It changes neither networks nor the packet filter of this machine. */
const withoutNetwork = [
  '--bridge=none',
  '--iptables=false',
  '--ip6tables=false',
  '--ip-forward=false',
  '--ip-masq=false',
  '--userland-proxy=false',
]

/** The daemon makes it for its plugins, wherever its other folders are. */
const pluginFolders = ['/run/docker/plugins', '/run/docker']

/** Starts the daemon, with its defaults otherwise. @throws Error if it does not start */
export async function startDocker(): Promise<Docker> {
  const programs = unpack()
  const folder = mkdtempSync(join(tmpdir(), 'dock-'))
  const env = { ...process.env, PATH: `${programs}/usr/bin:${programs}/usr/sbin:${process.env.PATH}` }
  const host = `--host=unix://${folder}/docker.sock`
  const hadPlugins = existsSync(pluginFolders[0]!)
  // Its key would be in /etc.
  writeFileSync(`${folder}/daemon.json`, JSON.stringify({ 'deprecated-key-path': `${folder}/key.json` }))
  const config = `--config-file=${folder}/daemon.json`
  const folders = [`--data-root=${folder}/data`, `--exec-root=${folder}/exec`, `--pidfile=${folder}/pid`]
  const daemon = spawn(`${programs}/usr/sbin/dockerd`, [host, config, ...folders, ...withoutNetwork], {
    env,
    stdio: 'ignore',
  })
  const exited = once(daemon, 'exit')
  const run = (args: readonly string[], input?: Buffer): string =>
    execFileSync(`${programs}/usr/bin/docker`, [host, ...args], {
      env,
      encoding: 'utf8',
      input: input ?? '',
      stdio: ['pipe', 'pipe', 'pipe'],
    })
  const stop = async () => {
    daemon.kill()
    await exited
    for (const mount of mountsBelow(folder)) execFileSync('umount', ['--lazy', mount])
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 })
    if (!hadPlugins) for (const each of pluginFolders) if (existsSync(each)) rmdirSync(each)
  }
  const isThere = () => existsSync(`${folder}/docker.sock`)
  const end = performance.now() + stepLimitMs
  while (!isThere() && daemon.exitCode === null && performance.now() < end) await sleep(50)
  if (isThere()) return { run, stop }
  await stop()
  throw new Error('dockerd does not start on this machine')
}
