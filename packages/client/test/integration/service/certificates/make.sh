#!/bin/sh
# Makes the certificates of this folder; needs openssl.
set -e
cd "$(dirname "$0")"
key() { openssl ecparam -name prime256v1 -genkey -noout | openssl pkcs8 -topk8 -nocrypt -out "$1"; }
names='subjectAltName=DNS:localhost,DNS:*.example.com,IP:127.0.0.1'
key ca.key
openssl req -x509 -new -key ca.key -subj '/CN=test authority' -days 36500 -addext 'basicConstraints=critical,CA:TRUE' -out ca.pem
for name in server client; do
  key $name.key
  openssl req -new -key $name.key -subj "/CN=$name" -addext "$names" |
    openssl x509 -req -CA ca.pem -CAkey ca.key -CAcreateserial -days 36500 -copy_extensions copy -out $name.pem
done
key self.key
openssl req -x509 -new -key self.key -subj '/CN=self' -days 36500 -addext "$names" -out self.pem
rm -f ca.key ca.srl
