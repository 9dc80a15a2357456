"""Passwords of devices, and their hashes for Mosquitto's password_file."""

import base64
import hashlib
import hmac

# Mosquitto computes this at each login, on its only thread: the passwords are random and long, and
# many devices log in at once after a reboot.
ITERATIONS = 1000


def mosquitto_password(password, user):
    """Return the hash as mosquitto_passwd writes it: $7$iterations$salt$hash, with PBKDF2-HMAC-SHA512.

    The salt depends on the password and the user only. So a second deployment changes nothing, and
    only who knows the password can compute it.
    """
    salt = hmac.digest(password.encode(), b"mosquitto:" + user.encode(), "sha256")[:12]
    key = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, ITERATIONS)
    return f"$7${ITERATIONS}${base64.b64encode(salt).decode()}${base64.b64encode(key).decode()}"


def device_password(key, device, generation):
    """Return a device's password: HMAC-SHA256 of "device:generation" under the key, in hexadecimal digits.

    Who has one device's password has no other's. The next generation is a new password.
    """
    return hmac.digest(key.encode(), f"{device}:{generation}".encode(), "sha256").hex()


class FilterModule:
    """Filters of the role."""

    def filters(self):
        """Return the filters by name."""
        return {"device_password": device_password, "mosquitto_password": mosquitto_password}
