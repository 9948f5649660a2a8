/** A Docker of the campaign's own, from the packages of Debian: nothing is installed, and it has no network. */
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Docker, startDocker as startFrom } from '../../harness/docker.ts'
import { cache, downloadPackages, unpackPackages } from './debian-packages.ts'

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

/** Starts the daemon. @throws Error if it does not start */
export function startDocker(): Promise<Docker> {
  const programs = unpack()
  return startFrom({ folders: ['bin', 'sbin'].map((each) => join(programs, 'usr', each)) })
}
