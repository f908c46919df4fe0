/**
 * Files that the registry's clients bring along, and that schemas import without registering
 * them: names and numbers of the fields, without comments and options. Those of google/type are
 * from googleapis (Apache License 2.0, Copyright Google LLC).
 */
const FILES: Readonly<Record<string, string>> = {
  'confluent/type/decimal':
    'message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }',
  'confluent/type/variant': 'message Variant { bytes metadata = 1; bytes value = 2; }',
  'google/type/date': 'message Date { int32 year = 1; int32 month = 2; int32 day = 3; }',
  'google/type/datetime':
    'import "google/protobuf/duration.proto"; message DateTime { int32 year = 1; int32 month = 2; int32 day = 3; int32 hours = 4; int32 minutes = 5; int32 seconds = 6; int32 nanos = 7; oneof time_offset { google.protobuf.Duration utc_offset = 8; TimeZone time_zone = 9; } } message TimeZone { string id = 1; string version = 2; }',
  'google/type/dayofweek':
    'enum DayOfWeek { DAY_OF_WEEK_UNSPECIFIED = 0; MONDAY = 1; TUESDAY = 2; WEDNESDAY = 3; THURSDAY = 4; FRIDAY = 5; SATURDAY = 6; SUNDAY = 7; }',
  'google/type/decimal': 'message Decimal { string value = 1; }',
  'google/type/interval':
    'import "google/protobuf/timestamp.proto"; message Interval { google.protobuf.Timestamp start_time = 1; google.protobuf.Timestamp end_time = 2; }',
  'google/type/latlng': 'message LatLng { double latitude = 1; double longitude = 2; }',
  'google/type/money':
    'message Money { string currency_code = 1; int64 units = 2; int32 nanos = 3; }',
  'google/type/month':
    'enum Month { MONTH_UNSPECIFIED = 0; JANUARY = 1; FEBRUARY = 2; MARCH = 3; APRIL = 4; MAY = 5; JUNE = 6; JULY = 7; AUGUST = 8; SEPTEMBER = 9; OCTOBER = 10; NOVEMBER = 11; DECEMBER = 12; }',
  'google/type/phone_number':
    'message PhoneNumber { message ShortCode { string region_code = 1; string number = 2; } oneof kind { string e164_number = 1; ShortCode short_code = 2; } string extension = 3; }',
  'google/type/postal_address':
    'message PostalAddress { int32 revision = 1; string region_code = 2; string language_code = 3; string postal_code = 4; string sorting_code = 5; string administrative_area = 6; string locality = 7; string sublocality = 8; repeated string address_lines = 9; repeated string recipients = 10; string organization = 11; }',
  'google/type/timeofday':
    'message TimeOfDay { int32 hours = 1; int32 minutes = 2; int32 seconds = 3; int32 nanos = 4; }',
};

/** @returns text of such a file. @param name under which it is imported */
export function bundledFile(name: string): string | undefined {
  const path = name.replace(/\.proto$/, '');
  // The path that Confluent's files had before.
  const moved = path.replace(/^confluent\/types\//, 'confluent/type/');
  if (!Object.hasOwn(FILES, moved)) return undefined;
  if (moved !== path) return `import public "${moved}.proto";`;
  const space = path.split('/', 2).join('.');
  return `syntax = "proto3"; package ${space}; ${FILES[path]}`;
}
