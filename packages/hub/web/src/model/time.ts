/** Times come as seconds since 1970 or as a date; here they are milliseconds. */
export function moment(time: string | number | null | undefined): number | undefined {
  if (typeof time === "number") return time * 1000;
  const read = time ? Date.parse(time) : NaN;
  return Number.isNaN(read) ? undefined : read;
}
