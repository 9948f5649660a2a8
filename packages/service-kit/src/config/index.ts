/** Configuration: a table of options a program, read from file, environment and command line by one function. */
export { daemonOptions } from './daemon-options.ts'
export { ConfigError, loadConfig, readConfigFile, settingOf } from './load.ts'
export { type ConfigOf, type Option, type Options, option } from './option.ts'
