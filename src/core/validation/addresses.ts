// IP addresses and ranges of them in CIDR notation, as settings have them, and stored keys by the format `address`.
import { BlockList, isIP } from 'node:net'
import { FormatRegistry } from '@sinclair/typebox'

export const isAddressOrRange = (text: string): boolean => {
  const [address, bits, ...rest] = text.split('/') as [string, ...string[]]
  const size = isIP(address) === 6 ? 128 : 32
  const isRange = bits === undefined || (/^[1-9]\d*$/.test(bits) && Number(bits) <= size)
  // A range of IPv6 may have all IPv4 addresses in it. The zone of an address would not count.
  return isIP(address) !== 0 && isRange && rest.length === 0 && !address.includes('%') && !hasAllOfIPv4(text)
}

const hasAllOfIPv4 = (range: string): boolean => ['0.0.0.0', '255.255.255.255'].every(rangesOf([range]))

/** An IPv4 address with a port behind it, or any one in brackets, in the value of X-Forwarded-For. */
const WITH_PORT = /\[([\da-f:.]+)\](?::\d+)?|((?:\d{1,3}\.){3}\d{1,3}):\d+/gi

/** The addresses of X-Forwarded-For as other proxies write them. */
export const withoutPorts = (forwardedFor: string): string => forwardedFor.replace(WITH_PORT, '$1$2')

FormatRegistry.Set('address', isAddressOrRange)

const familyOf = (address: string) => (isIP(address) === 6 ? 'ipv6' : 'ipv4')

/** A function that tells whether an address is in one of the ranges. An IPv4 address may be written as an IPv6 address. */
export const rangesOf = (ranges: readonly string[]) => {
  const list = new BlockList()
  for (const [address = '', bits] of ranges.map((range) => range.split('/'))) {
    if (bits === undefined) list.addAddress(address, familyOf(address))
    else list.addSubnet(address, Number(bits), familyOf(address))
  }
  return (address: string): boolean => list.check(address, familyOf(address))
}
