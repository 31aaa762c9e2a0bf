"""An OAuth 2.0 authorization server and the API it protects, on django-oauth-toolkit.

One module contains settings, routes, views and the WSGI application, which gunicorn serves. The environment
contains the locations of the database and the two logs:

  AUTH_DATABASE   sqlite file
  AUTH_TOKEN_LOG  JSON lines, one per token or revocation request
  AUTH_API_LOG    JSON lines, one per request to the protected API
  AUTH_ISSUER     the issuer identifier
"""

import base64
import hashlib
import json
import os
import threading
import time
from datetime import timedelta
from urllib.parse import unquote_plus

import django
from django.conf import settings

settings.configure(
    DEBUG=False,
    SECRET_KEY="interop-only",
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF=__name__,
    USE_TZ=True,
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "oauth2_provider"],
    MIDDLEWARE=[__name__ + ".log_token_requests", __name__ + ".somebody_is_signed_in"],
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": os.environ["AUTH_DATABASE"],
            "CONN_MAX_AGE": None,
            "OPTIONS": {
                "timeout": 20,
                "transaction_mode": "IMMEDIATE",
                "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;",
            },
        }
    },
    # Hashing the password of the temporary user need not take half a second.
    PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
    DATA_UPLOAD_MAX_MEMORY_SIZE=None,
    OAUTH2_PROVIDER={
        "SCOPES": {"read": "read", "write": "write"},
        "ACCESS_TOKEN_EXPIRE_SECONDS": int(os.environ.get("AUTH_EXPIRES_IN", "3600")),
        "ROTATE_REFRESH_TOKEN": True,
        # A used refresh token that is presented again revokes its whole family.
        "REFRESH_TOKEN_REUSE_PROTECTION": True,
        "REFRESH_TOKEN_GRACE_PERIOD_SECONDS": 0,
        # This applies to every client with authorization codes.
        "PKCE_REQUIRED": True,
        "OIDC_ISS_ENDPOINT": os.environ["AUTH_ISSUER"],
        "COMPLIANT_BCP_RFC9700_PKCE_METHOD": True,
        "COMPLIANT_BCP_RFC9700_AUTHZ_RESPONSE_ISS": True,
        "OAUTH_DEVICE_VERIFICATION_URI": "http://127.0.0.1/device",
        "DEVICE_FLOW_INTERVAL": 1,
    },
)
django.setup()

from django.contrib.auth import get_user_model  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.http import HttpResponse, JsonResponse, StreamingHttpResponse  # noqa: E402
from django.urls import include, path, re_path  # noqa: E402
from django.utils import timezone  # noqa: E402
from oauth2_provider.models import AccessToken, Application, DeviceGrant  # noqa: E402
from oauth2_provider.oauth2_backends import get_oauthlib_core  # noqa: E402
from oauth2_provider.urls import metadata_urlpatterns  # noqa: E402

_log_lock = threading.Lock()


def _append(variable, record):
    line = json.dumps(record, separators=(",", ":")) + "\n"
    with _log_lock, open(os.environ[variable], "a", encoding="utf-8") as log:
        log.write(line)


def log_token_requests(get_response):
    """Middleware that logs the requests to the token and revocation endpoints, and their responses."""

    def middleware(request):
        if not request.path.startswith("/o/"):
            return get_response(request)
        authorization = request.META.get("HTTP_AUTHORIZATION", "")
        form = request.POST
        response = get_response(request)
        try:
            answer = json.loads(response.content)
        except ValueError:
            answer = {}
        client = form.get("client_id", "")
        if authorization.startswith("Basic "):
            client = unquote_plus(base64.b64decode(authorization[6:]).decode().split(":", 1)[0])
        _append(
            "AUTH_TOKEN_LOG",
            {
                "time": time.time(),
                "endpoint": request.path,
                "grant": form.get("grant_type", ""),
                "client": client,
                "client_auth": "basic" if authorization else "post",
                "content_type": request.META.get("CONTENT_TYPE", ""),
                "user_agent": request.META.get("HTTP_USER_AGENT", ""),
                "scope": form.get("scope", ""),
                "status": response.status_code,
                "error": answer.get("error", ""),
                "presented_refresh_token": form.get("refresh_token", ""),
                "access_token": answer.get("access_token", ""),
                "refresh_token": answer.get("refresh_token", ""),
            },
        )
        return response

    return middleware


def somebody_is_signed_in(get_response):
    """Middleware that signs in every visitor of the authorization page as alice."""

    def middleware(request):
        if request.path == "/o/authorize/":
            request.user = get_user_model().objects.get(username="alice")
        return get_response(request)

    return middleware


def protected(view):
    """Runs the view only for a valid access token; otherwise responds as in RFC 6750, section 3."""

    def wrapper(request, *args, **kwargs):
        # Read the whole body first, so that the response does not race the upload.
        digest, length = hashlib.sha256(), 0
        while block := request.read(1 << 16):
            digest.update(block)
            length += len(block)
        request.body_length, request.body_sha256 = length, digest.hexdigest()
        valid, verified = get_oauthlib_core().verify_request(request, scopes=[])
        header = request.META.get("HTTP_AUTHORIZATION", "")
        if valid:
            request.oauth_client = verified.access_token.application.name
            response = view(request, *args, **kwargs)
        else:
            response = JsonResponse({"detail": "the access token is not valid"}, status=401)
            challenge = 'Bearer realm="api"'
            if header:
                challenge += ', error="invalid_token", error_description="revoked or expired"'
            response["WWW-Authenticate"] = challenge
        response["X-Body-Length"] = str(length)
        response["X-Body-Sha256"] = request.body_sha256
        _append(
            "AUTH_API_LOG",
            {
                "method": request.method,
                "uri": request.get_full_path(),
                "status": response.status_code,
                "token_tail": header[-8:],
                "body_length": length,
                "body_sha256": request.body_sha256,
            },
        )
        return response

    wrapper.csrf_exempt = True
    return wrapper


@protected
def echo(request, rest=""):
    """Returns the received request."""
    return JsonResponse(
        {
            "method": request.method,
            "uri": request.get_full_path(),
            "client": request.oauth_client,
            "length": request.body_length,
            "sha256": request.body_sha256,
            "content_type": request.META.get("CONTENT_TYPE", ""),
            "content_encoding": request.META.get("HTTP_CONTENT_ENCODING", ""),
            "fields": {k[5:].lower().replace("_", "-"): v for k, v in request.META.items()
                       if k.startswith("HTTP_") and k != "HTTP_AUTHORIZATION"},
        }
    )


@protected
def slow(request):
    """Responds after `seconds`."""
    time.sleep(min(float(request.GET.get("seconds", "1")), 20))
    return JsonResponse({"slept": True})


@protected
def drip(request):
    """Sends `lines` lines, one every `gap` seconds."""
    lines, gap = int(request.GET.get("lines", "5")), float(request.GET.get("gap", "0.2"))

    def produce():
        for index in range(min(lines, 100)):
            if index:
                time.sleep(min(gap, 2))
            yield f"data: {index}\n\n".encode()

    response = StreamingHttpResponse(produce(), content_type="text/event-stream")
    response["X-Accel-Buffering"] = "no"
    return response


def always_401(request):
    """Refuses every token, even a new one."""
    while request.read(1 << 16):
        pass
    response = HttpResponse(b"no token is good enough here\n", status=401,
                            content_type="text/plain")
    response["WWW-Authenticate"] = 'Bearer realm="api", error="invalid_token"'
    response["X-Origin-Mark"] = "always-401"
    return response


always_401.csrf_exempt = True


def control_clients(request):
    """POST name, grant: registers a client application."""
    name, grant = request.POST["name"], request.POST["grant"]
    user, created = get_user_model().objects.get_or_create(username="alice")
    if created:
        user.set_password("wonderland")
        user.save()
    is_public = grant in ("authorization_code", "device_code")
    application = Application(
        name=name,
        user=user,
        client_type=Application.CLIENT_PUBLIC if is_public else Application.CLIENT_CONFIDENTIAL,
        authorization_grant_type={
            "client_credentials": Application.GRANT_CLIENT_CREDENTIALS,
            "refresh_token": Application.GRANT_PASSWORD,
            "authorization_code": Application.GRANT_AUTHORIZATION_CODE,
            "device_code": Application.GRANT_DEVICE_CODE,
        }[grant],
        # RFC 8252, section 7.3: any port of the loopback address is allowed.
        redirect_uris="http://127.0.0.1/callback" if grant == "authorization_code" else "",
        skip_authorization=True,
        hash_client_secret=False,
    )
    application.save()
    return JsonResponse(
        {"client_id": application.client_id, "client_secret": application.client_secret}
    )


control_clients.csrf_exempt = True


def control_tokens(request):
    """GET client: returns its valid access tokens. DELETE: revokes them but keeps the refresh token,
    unlike the revocation endpoint."""
    tokens = AccessToken.objects.filter(
        application__name=request.GET["client"], expires__gt=timezone.now())
    if request.method == "DELETE":
        tokens.update(expires=timezone.now() - timedelta(seconds=1))
        return JsonResponse({})
    return JsonResponse({"access": [token.token for token in tokens]})


control_tokens.csrf_exempt = True

def control_devices(request):
    """POST user_code, status: alice approves or denies a device's sign-in."""
    grant = DeviceGrant.objects.get(user_code=request.POST["user_code"])
    grant.user = get_user_model().objects.get(username="alice")
    grant.status = request.POST["status"]
    grant.save()
    return JsonResponse({})


control_devices.csrf_exempt = True

urlpatterns = [
    *metadata_urlpatterns,
    path("o/", include("oauth2_provider.urls", namespace="oauth2_provider")),
    path("api/slow", slow),
    path("api/drip", drip),
    path("api/always-401", always_401),
    re_path(r"^api/(?P<rest>.*)$", echo),
    path("control/clients", control_clients),
    path("control/devices", control_devices),
    path("control/tokens", control_tokens),
]

application = get_wsgi_application()


def create_database():
    """Creates the tables."""
    from django.core.management import call_command

    call_command("migrate", run_syncdb=True, verbosity=0)


if __name__ == "__main__":
    create_database()
