/** Most that a Compose file and the files beside it may have. Everything in them may be written by a stranger. */
export const composeLimits = {
  /** Bytes of one Compose file. */
  fileBytes: 1024 * 1024,
  /** Bytes of a file with variables: `.env`, `env_file`. */
  envFileBytes: 256 * 1024,
  /** Files that are read for one app: Compose files, those that services extend, files with variables, configs. */
  files: 256,
  /** Bytes of all these files together. */
  allBytes: 16 * 1024 * 1024,
  /** Files and folders in one folder beside the Compose file that an app gets a copy of, and folders in each other. */
  folderEntries: 1000,
  folderDepth: 16,
  /** Values in a Compose file, where each alias counts as all values of its anchor. */
  values: 20_000,
  /** Values of all services with what they extend. */
  extendedValues: 60_000,
  /** Lists and mappings in each other. */
  depth: 64,
  /** Members of `services`, those of other profiles included. */
  services: 256,
  /** Services that extend each other. */
  extends: 8,
  /** Variables in the default values of each other. */
  variableDepth: 16,
  /** Characters of one text after its variables were replaced. */
  textCharacters: 64 * 1024,
  /** Characters of all texts after their variables were replaced. */
  allCharacters: 8 * 1024 * 1024,
  /** Problems that are shown; the rest are counted. */
  problems: 100,
  /** Notes that are shown; the rest are counted. */
  notes: 200,
  /** Characters of a value that a message shows. */
  shownCharacters: 80,
} as const
